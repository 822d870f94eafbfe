package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func evaluated(e *plan.Experiment) {
	e.Evaluate = &plan.Evaluate{Command: []string{"evaluate", "{x}", "{data.truth}"}, Files: []string{"pred"}, Env: map[string]string{"MODE": "test"}}
	e.Env = map[string]string{"SECRET_OF_TRAINING": "1"}
}

func TestOnlyWhatTheEvaluationSaysCounts(t *testing.T) {
	inLab(t, 2, evaluated, func(l *lab) {
		h := l.host("a", 1, func(j job) hosttest.Script {
			s := ok(j) // says loss: 0.5
			s.StepLogs = map[string]string{"evaluate": "loss: 0." + j.x() + "\n"}
			return s
		})
		l.spec.Hosts[0].Data = map[string]string{"truth": "/data/truth"}
		wantOutcome(t, l.run("r1"), "done", 0)
		fin := bodies[ledger.AttemptFinished](l, "r1")
		if *fin[0].Objective != 0.1 || *fin[1].Objective != 0.2 {
			t.Errorf("%v %v", *fin[0].Objective, *fin[1].Objective)
		}
		e := h.Jobs()[0].Evaluate
		if strings.Join(e.Argv, " ") != "evaluate 1 /data/truth" || e.Tree.ID != h.Jobs()[0].Tree.ID || e.Files[0] != "pred" || e.Time != 10*time.Minute {
			t.Errorf("%+v", e)
		}
		env := strings.Join(e.Env, "\n")
		if !strings.Contains(env, "MODE=test") || !strings.Contains(env, "XRUN_LOG=/") || !strings.Contains(env, "XRUN_SEED=0") || strings.Contains(env, "SECRET_OF_TRAINING") {
			t.Errorf("%s", env)
		}
	})
}

func TestStepsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		script  hosttest.Script
		cause   Cause
		message string
	}{
		"setup":                 {hosttest.Script{Code: 3, Step: "setup", StepLogs: map[string]string{"setup": "no network\n"}}, CauseSetup, "setup failed on a with exit status 3: no network"},
		"setup takes too long":  {hosttest.Script{Code: 143, End: hosts.TimedOut, Step: "setup"}, CauseSetup, "setup did not end within setup.timeout (30m)"},
		"evaluate":              {hosttest.Script{Code: 1, Step: "evaluate", StepLogs: map[string]string{"evaluate": "Traceback\nKeyError: 'acc'\n"}}, CauseExit, "evaluate: exit status 1: KeyError: 'acc'"},
		"evaluate hangs":        {hosttest.Script{Code: 143, End: hosts.TimedOut, Step: "evaluate"}, CauseTimeout, "evaluate did not end within limits.evaluate (10m)"},
		"evaluate is not there": {hosttest.Script{Code: 127, Step: "evaluate", StepLogs: map[string]string{"evaluate": "sh: evaluate: not found\n"}}, CauseNotFound, "evaluate: the command could not be run on a"},
		"evaluate says nothing": {hosttest.Script{Log: "loss: 0.5\n", StepLogs: map[string]string{"evaluate": "done\n"}}, CauseNoMetric, "never printed loss in a form that is read (xrun help metrics)"},
		"the command":           {hosttest.Script{Code: 1, Log: "no such file\n"}, CauseExit, "exit status 1: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 1, func(e *plan.Experiment) {
				e.Setup = &plan.Setup{Command: []string{"uv", "sync"}}
				e.Evaluate = &plan.Evaluate{Command: []string{"evaluate"}}
			}, func(l *lab) {
				l.host("a", 1, func(job) hosttest.Script { return c.script })
				l.run("r1")
				f := bodies[ledger.AttemptFinished](l, "r1")[0]
				if Cause(f.Cause) != c.cause || !strings.Contains(f.Message, c.message) {
					t.Errorf("%s: %s", f.Cause, f.Message)
				}
			})
		})
	}
}

func TestASetupThatFailsIsTriedOnAnotherHost(t *testing.T) {
	inLab(t, 2, func(e *plan.Experiment) {
		e.Setup = &plan.Setup{Command: []string{"uv", "sync", "{xrun.setup}"}}
		e.Env = map[string]string{"VENV": "{xrun.setup}/venv", "X": "{x}"}
	}, func(l *lab) {
		bad := l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Code: 3, Step: "setup"} })
		l.host("b", 1, ok)
		wantOutcome(t, l.run("r1"), "done", 0)
		s := bad.Jobs()[0].Setup
		env := strings.Join(s.Env, "\n")
		if s.Key == "" || s.Time != 30*time.Minute || !strings.HasSuffix(s.Argv[2], "/"+s.Key) || !strings.Contains(env, "VENV="+s.Argv[2]+"/venv") || strings.Contains(env, "X=") {
			t.Errorf("%+v", s)
		}
	})
}

func TestACheckpointIsFoundAgainAfterTheCausesThatWereAskedFor(t *testing.T) {
	for cause, c := range map[string]struct {
		code    int
		resumed bool
	}{
		"killed": {137, true},
		"exit":   {2, false},
	} {
		t.Run(cause, func(t *testing.T) {
			inLab(t, 1, func(e *plan.Experiment) {
				retry(1, "killed", "exit")(e)
				e.Checkpoint = &plan.Checkpoint{Signal: "USR1", Ahead: ptr(plan.Duration(2 * time.Minute)), ResumeOn: []string{"killed"}}
			}, func(l *lab) {
				h := l.host("a", 1, failing(1, c.code, "epoch 3\n"))
				wantOutcome(t, l.run("r1"), "done", 0)
				var dirs []string
				resumed := false
				for _, j := range h.Jobs() {
					if j.Limits.Signal != "USR1" || j.Limits.Ahead != 2*time.Minute {
						t.Errorf("%+v", j.Limits)
					}
					for _, nv := range j.Env {
						if dir, ok := strings.CutPrefix(nv, "XRUN_CHECKPOINT_DIR="); ok {
							dirs = append(dirs, dir)
							if dir != j.Checkpoint {
								t.Errorf("%s, deleted is %s", dir, j.Checkpoint)
							}
						}
						resumed = resumed || nv == "XRUN_RESUMED=1"
					}
				}
				if resumed != c.resumed || (dirs[0] == dirs[1]) != c.resumed {
					t.Errorf("resumed %v: %q", resumed, dirs)
				}
			})
		})
	}
}

func TestACheckpointIsFoundAgainByAResumeThatTookTheAttemptBack(t *testing.T) {
	inLab(t, 2, func(e *plan.Experiment) {
		retry(1, "killed")(e)
		e.Checkpoint = &plan.Checkpoint{}
	}, func(l *lab) {
		n := 0
		h := l.host("a", 1, func(j job) hosttest.Script {
			if n++; n == 1 {
				return hosttest.Script{Took: time.Second, Code: 137}
			}
			return steps(j)
		})
		l.interrupted("r", 5*time.Minute) // another trial runs, the second attempt waits
		wantOutcome(t, l.resume("r"), "done", 0)
		dirs := map[string]int{}
		for _, j := range h.Jobs() {
			if (job{j}).x() == "1" {
				dirs[j.Checkpoint]++
			}
		}
		if len(dirs) != 1 {
			t.Errorf("%v", dirs)
		}
	})
}

func TestACheckpointIsFoundAgainByTheRunThatTookTheAttemptOver(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) {
		retry(3, "killed")(e)
		e.Checkpoint = &plan.Checkpoint{}
	}, func(l *lab) {
		n := 0
		h := l.host("a", 1, func(job) hosttest.Script {
			n++
			if n == 4 {
				return ok(job{})
			}
			return hosttest.Script{Took: time.Minute, Code: 137, Log: strings.Repeat("on ", n) + "\n"} // another signature each time
		})
		l.interrupted("r1", 90*time.Second)
		l.say("r2", ledger.RunStarted{})
		cfg := l.config("r2")
		cfg.Adopt = l.adopt()
		ctx, cancel := context.WithTimeout(l.t.Context(), 60*time.Second)
		defer cancel()
		l.start(ctx, cfg)
		wantOutcome(t, l.resume("r2"), "done", 0)
		dirs := map[string]int{}
		for _, j := range h.Jobs() {
			dirs[j.Checkpoint]++
		}
		if len(h.Jobs()) != 4 || len(dirs) != 1 {
			t.Errorf("%d jobs, checkpoints %v", len(h.Jobs()), dirs)
		}
	})
}
