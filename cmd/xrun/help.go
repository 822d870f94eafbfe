package main

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

type helpCmd struct {
	Topic string `arg:"" optional:"" help:"exit-codes, files, environment, metrics, placeholders, causes, events, or a command."`
}

// Help is the example.
func (helpCmd) Help() string { return "Example:\n  xrun help exit-codes\n  xrun help run" }

// A topic is a page of help.
type topic struct {
	name, about string
	text        func() string
}

// topics are the pages, in the order in which they are listed.
func topics() []topic {
	page := func(text string) func() string { return func() string { return text } }
	return []topic{
		{"exit-codes", "what each exit code means", page(exitCodesPage)},
		{"files", "what lies in the state directory", page(filesPage)},
		{"environment", "what a trial finds in its environment", page(environmentPage)},
		{"metrics", "what a program may print", page(metricsPage)},
		{"placeholders", "what is filled into a command", page(placeholdersPage)},
		{"causes", "why a trial has no result, and what is done then", causesPage},
		{"events", "what the ledger records", eventsPage},
	}
}

// Run prints a page, or the help of a command.
func (c *helpCmd) Run(ctx context.Context, a *app) error {
	if c.Topic == "" {
		_, err := fmt.Fprint(a.stdout, topicsPage())
		return err
	}
	var names []string
	for _, t := range topics() {
		if t.name == c.Topic {
			_, err := fmt.Fprint(a.stdout, t.text())
			return err
		}
		names = append(names, t.name)
	}
	k, err := newParser(ctx, a, &cli{}, a.stdout, a.stderr)
	if err != nil {
		return &bugError{value: err}
	}
	if unbuiltNames[c.Topic] {
		return notBuilt("xrun " + c.Topic)
	}
	for _, child := range k.Model.Children {
		if child.Name == c.Topic && !child.Hidden {
			_, err := k.Parse([]string{c.Topic, "--help"}) // prints, and ends the command
			return err
		}
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	hint := "`xrun help` lists the topics, `xrun --help` the commands"
	if near := plan.Nearest(c.Topic, names); near != "" {
		hint = "did you mean `xrun help " + near + "`?"
	}
	return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("there is no topic and no command %q", c.Topic), hint: hint}
}

// topicsPage lists the pages.
func topicsPage() string {
	return "Topics:\n\n" + table(func(w *tabwriter.Writer) {
		for _, t := range topics() {
			fmt.Fprintf(w, "  %s\t%s\n", t.name, t.about)
		}
	}) + "\n`xrun help TOPIC` prints one; `xrun --help` lists the commands, `xrun help COMMAND` explains one.\n"
}

func table(rows func(w *tabwriter.Writer)) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows(w)
	w.Flush()
	return b.String()
}

func causesPage() string {
	return "Why a trial has no result, by what it is seen, and what is done then.\n\n" + table(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "CAUSE\tFAULT OF\tSEEN BY\tTHEN")
		for _, p := range engine.Policies {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Cause, p.Blame, p.Seen, p.Then)
		}
	})
}

func eventsPage() string {
	return fmt.Sprintf("The events of the ledger and of events.jsonl, version %d.\n\n", ledger.SchemaVersion) + table(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "TYPE\tMEANING")
		for _, t := range ledger.Types {
			fmt.Fprintf(w, "%s\t%s\n", t.Type, t.Doc)
		}
	})
}

const (
	exitCodesPage = `When several apply, the first in this order counts: 70, 130, 1, 2, 5, 6, 7, 4, 3, 10, 0.

0    done; every trial planned has a result. plan: valid; with --detailed-exitcode: and nothing to run
1    xrun could not do its own work (disk, ledger, network of the controller); --overlap fail
2    wrong usage, or the spec is wrong
3    finished, but some trials failed, were lost, or were not run for another reason than a budget
4    finished with nothing usable: no experiment has a result
5    skipped: another run is active in this state directory
6    no host could be used
7    a budget or the deadline ended it before it was complete; can be resumed
10   plan --detailed-exitcode: valid, and there is something to run
70   a bug in xrun; says what to report
130  interrupted; can be resumed
`
	filesPage = `<state> is .xrun at the root of the repository (outside git beside cue.mod, else in the package of the first PATH),
or --state DIR, or XRUN_STATE. It ignores itself for git.

<state>/ledger.db                      SQLite; the truth. What is below can be written again from it, logs and
                                       artifacts apart
<state>/lock                           one run at a time; names its holder
<state>/runs/<run>/plan.json           what was decided before anything ran
<state>/runs/<run>/report.md           for people
<state>/runs/<run>/report.json         for programs
<state>/runs/<run>/junit.xml           for a CI system
<state>/ledger.db.damaged-N            one that was damaged and moved aside; a new one is made of the files of events
<state>/runs/<run>/events.jsonl        one event a line (xrun help events)
<state>/runs/<run>/<experiment>/<trial>/attempt-N/{log,result.json,artifacts/…}
                                       <trial> begins with its values and ends with its id
<state>/code/                          spec and shipped bytes of runs
<cache>/xrun/<state id>/work/          jobs on this machine, in the user's cache directory
/tmp/xrun-leases-v1/                   who has which GPU, for all users of a machine; hosts.NAME.lease_dir is another place
`
	environmentPage = `What a trial finds in its environment:

XRUN_RUN_ID, XRUN_EXPERIMENT, XRUN_TRIAL_ID, XRUN_ATTEMPT, XRUN_SEED
XRUN_PARAMS_FILE     a JSON file with the parameters
XRUN_PARAM_<NAME>    each parameter; the name in upper case, other characters _
XRUN_OUT             a directory; the files in it are artifacts and come home
XRUN_SETUP_DIR       with setup: a directory per host and key, the place for a virtual environment
XRUN_CHECKPOINT_DIR  with checkpoint: a directory per trial that outlives the attempt
XRUN_RESUMED         with checkpoint: whether this attempt goes on from one
CUDA_VISIBLE_DEVICES the UUIDs of its GPUs, which nobody else has meanwhile (or only trials of the same run, where
                     needs.per_gpu lets them share); empty without needs.gpus
CUDA_DEVICE_ORDER    PCI_BUS_ID
MASTER_PORT          a free TCP port of its own
PYTHONUNBUFFERED     1

Local commands inherit the environment of xrun. Later wins: host, prelude, host.env, env, secrets, XRUN_*.
Names that begin with XRUN_ are reserved: vet refuses them in env. Secrets reach the environment and nothing else: no plan,
ledger, log, report or argv.

xrun itself reads XRUN_STATE and NO_COLOR. Where CUDA_VISIBLE_DEVICES is set for it, it uses no other GPUs on this
machine. GPUs are found by the nvidia-smi on PATH.
`
	metricsPage = `All of these are understood without configuration, in any mix, anywhere in the log:

name: 1.5e-05           name=-0.3           name 12   (at the start of a line)
METRIC name=0.25
{"val": {"loss": 0.31}}                     a line that is a JSON object: numbers by dotted key (val.loss)
{'eval_loss': 0.31}                         the same for a Python dict of literals
{"metric_name": "loss", "metric_value": 0.31, "memory_gb": 11.2}
FINAL_RESULTS: {"primary_metric": …, "per_method": {…}}
peak_vram_mb: 11234

A name is matched whole: acc is not found in val/acc. A number is the whole numeric token, or an error that names line
and column: never a part of it. nan and inf are "diverged", never a value. A step or epoch on the same line, or the last
one printed before, is kept with the value.

What is said otherwise, or not printed at all, is found where "from" of the objective or of a metric says:

from: {kind: "regex", pattern: "loss is (?P<value>\\S+)"}               in the log
from: {kind: "json", file: "out.json", pointer: "/eval/loss"}           in a file of JSON, or of JSON lines
from: {kind: "csv", file: "logs/*.csv", column: "val_loss"}             in a CSV file with a line of names

The file is one that the program leaves where it runs or in XRUN_OUT; it comes home as an artifact, and is read when the
program has ended.
`
	placeholdersPage = `In command and env, and in the commands of evaluate and tests:

{name}          a parameter
{seed}          the seed
{xrun.run}, {xrun.experiment}, {xrun.trial}, {xrun.attempt}, {xrun.gpus}
{xrun.out}      the directory for artifacts, XRUN_OUT
{xrun.port}     a free TCP port, MASTER_PORT
{xrun.setup}    the directory of setup, XRUN_SETUP_DIR
{xrun.checkpoint}  the directory of checkpoint, XRUN_CHECKPOINT_DIR
{data.NAME}     the path of a data set on this host
{inputs.NAME}   the path of another trial's artifact on this host
{params}        as an element of its own: k=v for every parameter, sorted; {params:--} gives --k=v; a parameter that
                this point does not have is left out

In the command of setup only {xrun.setup} and {data.NAME}: it runs once for all trials.

An unknown name is an error. {{ and }} are literal braces; a brace that is no placeholder stands for itself (awk '{print $1}').
Whole numbers are written in digits, others in the shortest form that reads back the same (0.0001, 1e-05). No shell of ours
ever sees a value. What is under {xrun.…}, {data.…} and {inputs.…} is not part of a trial's identity; the versions of data
and the trials behind inputs are.
`
)
