package plan

import (
	"strconv"
	"testing"
	"time"
)

func hours(n int) *Duration { d := Duration(time.Duration(n) * time.Hour); return &d }

// limited is edit after trials got two hours.
func limited(edit func(*Experiment)) func(*Experiment) {
	return func(e *Experiment) {
		e.Limits.Trial, e.Set = *hours(2), map[string]bool{"limits.trial": true}
		edit(e)
	}
}

func TestWhatIsSetAndDoesNothingIsNamed(t *testing.T) {
	findings{
		"a retry that retries nothing": {
			func(e *Experiment) { e.Retry = &Retry{On: []string{"exit"}} },
			[]string{"experiments.lr.retry: nothing is tried again while retry.max is 0 (add retry: max: 2)?"},
		},
		"a retry that is switched off": {
			func(e *Experiment) { e.Retry, e.Set = &Retry{On: []string{"exit"}}, map[string]bool{"retry.max": true} },
			nil,
		},
		"a retry": {func(e *Experiment) { e.Retry = &Retry{Max: 1} }, nil},
		"a silence that a trial does not live to see": {
			func(e *Experiment) { e.Limits.Trial, e.Limits.Silence = *hours(1), hours(1) },
			[]string{"experiments.lr.limits.silence: silence 1h never ends a trial, which ends after 1h anyway?"},
		},
		"a silence within the trial": {limited(func(e *Experiment) { e.Limits.Silence = hours(1) }), nil},
		"a signal before the beginning": {
			func(e *Experiment) { e.Limits.Trial, e.Checkpoint = *hours(1), &Checkpoint{Ahead: hours(2)} },
			[]string{"experiments.lr.checkpoint.ahead: ahead 2h is not below limits.trial 1h: the signal would come before the trial begins (it is counted back from limits.trial)"},
		},
		"a signal": {limited(func(e *Experiment) { e.Checkpoint = &Checkpoint{Ahead: hours(1)} }), nil},
	}.check(t)
}

func TestExcludesThatDropNothingAreNamed(t *testing.T) {
	excluding := func(ms ...Match) func(*Experiment) {
		return func(e *Experiment) {
			e.Params = map[string]Value{"m": val("x")}
			e.Command = []string{"p", "{params}"}
			e.Sweep = &Sweep{Grid: Axes{list("a", 1, 2), list("b", 3, 4)}, Exclude: ms, Include: []Params{{{"a", val(9)}, {"b", val(3)}}}}
		}
	}
	findings{
		"a value that is never there": {
			excluding(Match{list("a", 1), list("b", "3")}, Match{list("a", 7)}, Match{list("m", "y")}),
			[]string{
				`experiments.lr.sweep.exclude.0.b: this drops no point: b never is "3" (did you mean the number 3?)?`,
				"experiments.lr.sweep.exclude.1.a: this drops no point: a never is 7 (values: 1, 2)?",
				"experiments.lr.sweep.exclude.2.m: this drops no point: m never is y (values: x)?",
			},
		},
		"one that only include has, which comes behind it": {
			excluding(Match{list("a", 9)}),
			[]string{"experiments.lr.sweep.exclude.0.a: this drops no point: a never is 9 (values: 1, 2)?"},
		},
		"what drops some": {excluding(Match{list("a", 1, 7)}, Match{list("m", "x"), list("b", 4)}, Match{list("a", 1)}), nil},
		"values that never meet": {
			func(e *Experiment) {
				e.Command = []string{"p", "{params}"}
				e.Sweep = &Sweep{Zip: Axes{list("a", 1, 2), list("b", 3, 4)}, Exclude: []Match{{list("a", 1), list("b", 4)}}}
			},
			[]string{"experiments.lr.sweep.exclude.0: this drops no point: none has all of these values?"},
		},
	}.check(t)
}

func TestWordsThatOnlyAShellWouldReadAreNamed(t *testing.T) {
	command := func(argv ...string) func(*Experiment) {
		return func(e *Experiment) {
			e.Params, e.Sweep, e.Command = map[string]Value{"wd": val(1)}, nil, append(argv, "{wd}")
		}
	}
	const script = `let one read the line: ["sh", "-c", "…"]`
	operator := func(at, word, instead string) []string {
		return []string{"experiments.lr.command." + at + ": " + strconv.Quote(word) + " is passed to the program: no shell reads a command (" + instead + script + ")?"}
	}
	const output = "leave it out: xrun keeps what the program prints (`xrun logs`); or "
	variable := func(at, name, write string) []string {
		return []string{"experiments.lr.command." + at + ": $" + name + " is passed as it is: no shell reads a command and fills it in (" + write + ")?"}
	}
	findings{
		"two commands":     {command("cd", "src", "&&", "python", "t.py"), operator("2", "&&", "")},
		"a redirection":    {command("python", "t.py", ">", "log"), operator("2", ">", output)},
		"of errors":        {command("python", "t.py", "2>&1"), operator("2", "2>&1", output)},
		"a pipe":           {command("python", "t.py", "|", "tee", "log"), operator("2", "|", output)},
		"our variable":     {command("python", "t.py", "--out=$XRUN_OUT/m"), variable("2", "XRUN_OUT", "write {xrun.out}")},
		"of a parameter":   {command("python", "t.py", "$XRUN_PARAM_WD"), variable("2", "XRUN_PARAM_WD", "write {wd}")},
		"the parameter":    {command("python", "t.py", "--wd=$wd"), variable("2", "wd", "write {wd}")},
		"the seed":         {command("python", "t.py", "$SEED"), variable("2", "SEED", "write {seed}")},
		"a pattern":        {command("python", "t.py", "--re=^a$b"), nil},
		"another variable": {command("python", "t.py", "$HOME/data"), variable("2", "HOME", "write its value, or "+script)},
		"the environment": {
			func(e *Experiment) {
				e.Env = map[string]string{"OUT": "$XRUN_OUT/x", "PATH": "/opt/bin:$PATH", "PRICE": "5 $", "B": "a$b"}
			},
			[]string{
				"experiments.lr.env.OUT: $XRUN_OUT is passed as it is: no shell reads a command and fills it in (write {xrun.out})?",
				"experiments.lr.env.PATH: $PATH is passed as it is: no shell reads a command and fills it in (write its value)?",
			},
		},
		"an operand":        {command("python", "t.py", "--sep", "|", "--op", ">"), nil},
		"a shell":           {command("sh", "-c", "a && b > $HOME/x", "t", "&&"), nil},
		"behind a launcher": {command("srun", "bash", "-c", "a", "$HOME"), nil},
		"another machine":   {command("ssh", "gpu", "a", "&&", "b"), nil},
		"find":              {command("find", ".", "-exec", "a", ";", ">"), nil},
		"a program's text":  {command("python", "-c", "print('a > b', $A)"), nil},
		"hydra":             {command("python", "t.py", "out=${oc.env:HOME}"), nil},
	}.check(t)
}

func TestPlaceholdersThatAreWrittenAsElsewhereAreNamed(t *testing.T) {
	command := func(args ...string) func(*Experiment) {
		return func(e *Experiment) { e.Command = append([]string{"p", "{lr}"}, args...) }
	}
	findings{
		"formats": {
			command("{lr:.3f}", "s{seed:03d}", "{lr!r:>8}", "{lr:g}"),
			[]string{
				"experiments.lr.command.2: {lr:.3f} is not a placeholder and is passed as it is (write {lr})?",
				"experiments.lr.command.3: {seed:03d} is not a placeholder and is passed as it is (write {seed})?",
				"experiments.lr.command.5: {lr:g} is not a placeholder and is passed as it is (write {lr})?",
			},
		},
		"what is no format": {command("{lr:1}", "{lr: 1}", "{lr:-1}", "{epoch:03d}", "{lr:x,b:1}"), nil},
		"as in a shell": {
			command("${lr}", "--s=${seed}"),
			[]string{
				"experiments.lr.command.2: the $ before {lr} stays in front of its value (write {lr}; a variable of the shell is ${{lr}})?",
				"experiments.lr.command.3: the $ before {seed} stays in front of its value (write {seed}; a variable of the shell is ${{seed}})?",
			},
		},
		"a variable of the shell": {command("${{lr}}", "$ {lr}", "{lr}$"), nil},
	}.check(t)
}

func TestMetricsThatNothingPrintsAreNamed(t *testing.T) {
	findings{
		"names": {
			func(e *Experiment) {
				e.Objective.Metric = "loss "
				e.Metrics = map[string]Metric{"": {}, "val loss": {}}
			},
			[]string{
				`experiments.lr.objective.metric: "loss " has blanks around it, which belong to no name (write "loss")`,
				"experiments.lr.metrics.: this names no metric (it is the name that the program prints)",
			},
		},
		"places": {
			func(e *Experiment) {
				e.Metrics = map[string]Metric{
					"a": {From: &Source{Kind: "json", File: "a", Pointer: "/a~2b"}}, "b": {From: &Source{Kind: "csv", File: "a"}},
					"c": {From: &Source{Kind: "json", File: "a", Pointer: "/a~1b/c~0d"}}, "d": {From: &Source{Kind: "csv", File: "a", Column: "x"}},
				}
			},
			[]string{
				`experiments.lr.metrics.a.from.pointer: "/a~2b" is no JSON pointer (in a JSON pointer ~0 stands for ~, and ~1 for /)`,
				"experiments.lr.metrics.b.from.column: this names no column (it is a word of the file's first line)",
			},
		},
	}.check(t)
}
