package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// given sets fields as a spec would.
func given(edit func(*Experiment), paths ...string) func(*Experiment) {
	return func(e *Experiment) {
		edit(e)
		for _, p := range paths {
			e.Set[p] = true
		}
	}
}

func TestDurationsThatAreNoneAreNamed(t *testing.T) {
	none, below := Duration(0), Duration(-time.Second)
	findings{
		"limits of 0": {
			given(func(e *Experiment) {
				e.Limits = Limits{Trial: none, Evaluate: none, Silence: &none, Grace: none}
			}, "limits.trial", "limits.evaluate", "limits.silence", "limits.grace"),
			[]string{
				"experiments.lr.limits.trial: limits.trial is above 0",
				"experiments.lr.limits.evaluate: limits.evaluate is above 0",
				"experiments.lr.limits.silence: limits.silence is above 0 (leave it out if a trial may be silent)",
			},
		},
		"below 0": {
			given(func(e *Experiment) {
				e.Limits = Limits{Trial: below, Grace: below}
				e.Retry, e.Artifacts.KeepFor, e.Checkpoint = &Retry{Max: 1, Backoff: below}, &below, &Checkpoint{Ahead: &below}
			}, "limits.trial", "limits.grace", "retry.backoff"),
			[]string{
				"experiments.lr.limits.trial: limits.trial is above 0",
				"experiments.lr.limits.grace: limits.grace is at least 0",
				"experiments.lr.artifacts.keep_for: artifacts.keep_for is above 0",
				"experiments.lr.checkpoint.ahead: checkpoint.ahead is above 0",
				"experiments.lr.retry.backoff: retry.backoff is at least 0",
			},
		},
		"setup, tests and a canary": {
			given(func(e *Experiment) {
				e.Setup, e.Sweep = &Setup{Command: []string{"s"}}, &Sweep{Grid: Axes{list("lr", 1)}, Canary: &Canary{}}
				e.Loop = &Loop{Candidates: []Candidate{{Ref: "x"}}, Tests: &Tests{Command: []string{"t"}}, Stop: Stop{Budget: Budget{Wall: &none}}}
			}, "setup.timeout", "loop.tests.timeout", "sweep.canary"),
			[]string{
				"experiments.lr.setup.timeout: setup.timeout is above 0",
				"experiments.lr.sweep.canary: sweep.canary is above 0 (canary: false sends no trial ahead)",
				"experiments.lr.loop.stop.wall: loop.stop.wall is above 0",
				"experiments.lr.loop.tests.timeout: loop.tests.timeout is above 0",
			},
		},
		"no canary, and what the defaults give": {
			given(func(e *Experiment) {
				e.Setup, e.Sweep = &Setup{Command: []string{"s"}}, &Sweep{Grid: Axes{list("lr", 1)}, Canary: &Canary{Off: true}}
			}, "sweep.canary"),
			nil,
		},
	}.check(t)
}

func TestDurationsOutsideOfExperimentsAreChecked(t *testing.T) {
	none := Duration(0)
	s := specOf(experiment())
	s.Agents = []Agent{{Name: "a", Timeout: -1, Silence: -1}}
	s.Settings.LostAfter, s.Settings.Budget = -1, &Budget{Wall: &none}
	want := []string{
		"settings.lost_after: settings.lost_after is at least 0",
		"settings.budget.wall: settings.budget.wall is above 0",
		"agents.a.timeout: agents.a.timeout is at least 0",
		"agents.a.silence: agents.a.silence is at least 0",
	}
	if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatNoProgramCanBeGivenIsNamed(t *testing.T) {
	const why = `: this text holds a NUL byte, which no program can be given (remove the \u0000)`
	findings{
		"commands and their environments": {
			func(e *Experiment) {
				e.Command, e.Env = []string{"p", "a\x00b", "{lr}"}, map[string]string{"A": "\x00"}
				e.Setup = &Setup{Command: []string{"\x00"}}
				e.Evaluate = &Evaluate{Command: []string{"e", "\x00"}, Env: map[string]string{"B": "x\x00"}}
				e.Loop = &Loop{Tests: &Tests{Command: []string{"t\x00"}}, Candidates: []Candidate{{Params: map[string]Value{"lr": val("\x00")}}}}
			},
			[]string{
				"experiments.lr.command.1" + why, "experiments.lr.env.A" + why, "experiments.lr.setup.command.0" + why,
				"experiments.lr.evaluate.command.1" + why, "experiments.lr.evaluate.env.B" + why,
				"experiments.lr.loop.tests.command.0" + why, "experiments.lr.loop.candidates.0.params.lr" + why,
			},
		},
		"values of parameters": {
			func(e *Experiment) {
				e.Command, e.Params = []string{"p", "{params}"}, map[string]Value{"f": val("\x00")}
				e.Sweep = &Sweep{
					Grid: Axes{list("g", "a", "\x00")}, Zip: Axes{list("z", "\x00")}, Cases: []Axes{{list("c", 1)}, {list("c", "\x00")}},
					Random:  &Random{N: 1, Params: []Dist{{Name: "r", Dist: "choice", Values: []Value{val("a"), val("b\x00")}}}},
					Include: []Params{params("g", "\x00")},
				}
			},
			[]string{
				"experiments.lr.params.f" + why, "experiments.lr.sweep.grid.g.1" + why, "experiments.lr.sweep.zip.z.0" + why,
				"experiments.lr.sweep.cases.1.c.0" + why, "experiments.lr.sweep.random.params.r.values.1" + why,
				"experiments.lr.sweep.include.0.g" + why,
			},
		},
	}.check(t)
	s := specOf(experiment())
	s.Hosts[0].Env = map[string]string{"A": "\x00"}
	if diff := cmp.Diff([]string{"hosts.local.env.A" + why}, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
}
