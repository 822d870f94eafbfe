package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/xrun-dev/xrun/internal/plan"
)

type doctorCmd struct {
	textOrJSON
	Paths []string `arg:"" optional:"" name:"path" help:"Directories or files of CUE."`
	Cron  bool     `help:"Look again with the environment that cron gives, and name what is missing there."`
}

// Help is the example.
func (doctorCmd) Help() string {
	return "Example:\n  xrun doctor ./experiments --cron\n\nEverything that must hold before tonight, one line each: the spec, the code, the state directory, hosts, disks, secrets, the\nclock. Commands that give secrets are run, a file is written where xrun will write, and removed; no trial is started.\nProblems: exit 2 of the spec, 6 if no host can be used, 1 otherwise; warnings alone: exit 0."
}

// The states of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkProblem = "problem"
)

// A check is one thing that has to hold, and whether it does.
type check struct {
	Check   string  `json:"check"` // spec, program, code, state, host, gpu, disk, secret, clock or cron
	State   string  `json:"state"` // ok, warning or problem
	Message string  `json:"message"`
	Hint    *string `json:"hint"` // what to do

	code int // of a problem
}

// checkedUp is the result of doctor.
type checkedUp struct {
	Checks   []check `json:"checks"`
	Problems int     `json:"problems"`
	Warnings int     `json:"warnings"`
	ExitCode int     `json:"exit_code"`
}

// doctor gathers what was found.
type doctor struct {
	app   *app
	paths []string
	job   *job   // nil where the spec is wrong
	state string // directory; it may not be there yet
	found []check
}

// doctorSteps are looked at in this order. What has to be found out about other machines and agents is a step too.
var doctorSteps = []func(*doctor, context.Context) error{
	(*doctor).spec, (*doctor).code, (*doctor).stateDir, (*doctor).ledger, (*doctor).hosts, (*doctor).gpus, (*doctor).disks, (*doctor).secrets, (*doctor).clock,
}

// Run looks at everything and says what it found.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	d := &doctor{app: a, paths: c.Paths}
	for _, step := range doctorSteps {
		if err := step(d, ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if c.Cron {
		if err := d.cron(ctx); err != nil {
			return err
		}
	}
	res := d.result()
	if c.Output == "json" {
		if err := a.printJSON(res); err != nil {
			return err
		}
		return status(res.ExitCode)
	}
	for _, k := range res.Checks {
		if a.Quiet && k.State == checkOK {
			continue
		}
		hint := ""
		if k.Hint != nil {
			hint = "; " + *k.Hint
		}
		fmt.Fprintf(a.stdout, "%-8s %-7s %s\n", k.State, k.Check, visible(k.Message+hint))
	}
	if !a.Quiet || res.Problems > 0 {
		fmt.Fprintf(a.stdout, "%s, %s\n", count(res.Problems, "problem"), count(res.Warnings, "warning"))
	}
	return status(res.ExitCode)
}

// result adds up. Of several exit codes the one that comes first in their order counts.
func (d *doctor) result() checkedUp {
	r := checkedUp{Checks: d.found}
	rank := map[int]int{0: 0, 6: 1, exitUsage: 2, exitError: 3}
	for _, k := range d.found {
		switch k.State {
		case checkProblem:
			r.Problems++
			if rank[k.code] > rank[r.ExitCode] {
				r.ExitCode = k.code
			}
		case checkWarning:
			r.Warnings++
		}
	}
	return r
}

func (d *doctor) ok(what, format string, args ...any) {
	d.found = append(d.found, check{Check: what, State: checkOK, Message: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(what, message, hint string) {
	d.found = append(d.found, check{Check: what, State: checkWarning, Message: message, Hint: hintOrNil(hint)})
}

func (d *doctor) problem(code int, what, message, hint string) {
	d.found = append(d.found, check{Check: what, State: checkProblem, Message: message, Hint: hintOrNil(hint), code: cmp.Or(code, exitError)})
}

func hintOrNil(hint string) *string {
	if hint == "" {
		return nil
	}
	return &hint
}

// place is a problem of the spec with where it stands.
func place(p plan.Problem) (message, hint string) {
	if p.Suggestion != nil {
		hint = *p.Suggestion
	}
	p.Suggestion = nil
	return warning(p), hint
}
