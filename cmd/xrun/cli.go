package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/alecthomas/kong"
)

const description = `Run experiments that are written in CUE, and report what they found.

A PATH is a directory or file of CUE, or ./...; the default is the current directory.
A RUN is an id, the beginning of one, or "last".`

// superviseArg makes the program a supervisor of jobs; users never type it.
const superviseArg = "supervise"

type globals struct {
	Dir       string   `short:"C" name:"dir" placeholder:"DIR" help:"Work as if started in DIR."`
	Tags      []string `short:"t" name:"tag" sep:"none" placeholder:"KEY=VALUE" help:"Set a CUE tag (repeatable)."`
	State     string   `placeholder:"DIR" env:"XRUN_STATE" help:"Keep the ledger and the runs in DIR (default: .xrun at the root of the repository)."`
	Inventory string   `placeholder:"PATH" help:"Take hosts from the CUE files at PATH."`
	Color     string   `enum:"auto,always,never" default:"auto" help:"Colour: auto, always or never."`
	LogLevel  string   `enum:"trace,debug,info,warn,error,off" default:"warn" help:"Log to stderr: trace, debug, info, warn, error or off."`
	LogFormat string   `enum:"text,json" default:"text" help:"Format of the log: text or json."`
	Quiet     bool     `short:"q" help:"Say nothing unless something is wrong."`
}

type cli struct {
	globals
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`

	Init    initCmd    `cmd:"" help:"Make a package that works."`
	Vet     vetCmd     `cmd:"" help:"Check experiment files."`
	Plan    planCmd    `cmd:"" help:"Show what would run, where, and why."`
	Run     runCmd     `cmd:"" help:"Plan, then do it."`
	Resume  resumeCmd  `cmd:"" help:"Go on with an interrupted run."`
	Stop    stopCmd    `cmd:"" help:"Stop a run, an experiment or a trial."`
	Status  statusCmd  `cmd:"" help:"Show what runs where, what waits and why, and what is found so far."`
	Runs    runsCmd    `cmd:"" help:"List the runs, newest first."`
	Show    showCmd    `cmd:"" help:"Show a run, an experiment or a trial."`
	Logs    logsCmd    `cmd:"" help:"Print the log of a trial."`
	Fetch   fetchCmd   `cmd:"" help:"Bring what a trial left on its host."`
	Report  reportCmd  `cmd:"" help:"Write a run's report again, or print it."`
	Export  exportCmd  `cmd:"" help:"Write a run as one file."`
	Import  importCmd  `cmd:"" help:"Take a run that was exported into this ledger."`
	GC      gcCmd      `cmd:"" name:"gc" help:"Remove what nobody needs: old runs, their code, what jobs left."`
	Doctor  doctorCmd  `cmd:"" help:"Say what must hold before tonight, and does not."`
	Schema  schemaCmd  `cmd:"" help:"Print the schema of experiment files."`
	Help    helpCmd    `cmd:"" help:"Explain a topic or a command."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands, flags and runs in a shell."`
	Complete   completeCmd   `cmd:"" hidden:""`

	Compare unbuiltCmd `cmd:"" hidden:""`
	Explain unbuiltCmd `cmd:"" hidden:""`
	Promote unbuiltCmd `cmd:"" hidden:""`
	Hosts   unbuiltCmd `cmd:"" hidden:""`
}

// textOrJSON is the -o flag of a command that has a result.
type textOrJSON struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"Print the result as text or json."`
}

// positive is a number that counts from 1; 0 is a flag that was not given.
type positive int

// Decode reads the value of the flag.
func (p *positive) Decode(c *kong.DecodeContext) error {
	t, err := c.Scan.PopValue("N")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(t.String())
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no whole number of at least 1", t.String())
	}
	*p = positive(n)
	return nil
}

// unbuiltCmd stands for a command that is promised and not built yet.
type unbuiltCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

// Run says so.
func (c *unbuiltCmd) Run(a *app) error {
	name := "this command"
	for _, arg := range a.args {
		if unbuiltNames[arg] {
			name = "xrun " + arg
			break
		}
	}
	return notBuilt(name)
}

var unbuiltNames = map[string]bool{
	"compare": true, "explain": true, "promote": true, "hosts": true,
}

// newParser reads commands and flags into c.
func newParser(ctx context.Context, a *app, c *cli, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(c, kong.Name("xrun"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.KindMapper(reflect.String, kong.MapperFunc(takeString)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(a),
		kong.Vars{"version": "xrun " + version()})
}
