package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A causeRow provokes one row of the table of causes.
type causeRow struct {
	cause  Cause
	told   string // what the user is told of it, all of it
	trials int    // 0: one
	edit   func(*plan.Experiment)
	does   func(job) hosttest.Script // on the host that has the first attempt; nil: run sees to all
	other  func(job) hosttest.Script // on another host; nil: there is none
	run    func(*lab) Outcome        // nil: to its end
	want   []string                  // what becomes of the trials; the host that has the first attempt is h1
}

func once(s hosttest.Script) func(job) hosttest.Script {
	return func(job) hosttest.Script { return s }
}

// prints is a script that prints and ends with that exit status after a minute.
func prints(code int, log string) func(job) hosttest.Script {
	return once(hosttest.Script{Took: time.Minute, Code: code, Log: log})
}

func ends(end hosts.End, reason string) func(job) hosttest.Script {
	return once(hosttest.Script{Took: time.Minute, End: end, Code: 143, Reason: reason})
}

func onGPU(e *plan.Experiment) { needs(plan.Needs{GPUs: 1})(e) }

func both(edits ...func(*plan.Experiment)) func(*plan.Experiment) {
	return func(e *plan.Experiment) {
		for _, edit := range edits {
			edit(e)
		}
	}
}

const oomText = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"

// causeRows are those of the code and of the host.
var causeRows = []causeRow{
	{cause: CauseExit, told: "exit status 3: boom", does: prints(3, "boom\n"), want: []string{"1: failed exit on h1"}},
	{cause: CauseExit, told: "exit status 3: boom", edit: retry(1, "exit"), does: prints(3, "boom\n"), want: []string{"1: failed exit on h1 h1"}},
	{cause: CauseTimeout, told: "did not end within limits.trial (1h, the default; set it in the experiment)", does: once(hosttest.Script{Forever: true}), want: []string{"1: failed timeout on h1"}},
	{cause: CauseTimeout, told: "did not end within limits.trial (1h, the default; set it in the experiment)", edit: retry(1, "timeout"), does: once(hosttest.Script{Forever: true}), want: []string{"1: failed timeout on h1 h1"}},
	{
		cause: CauseSilence, told: "printed nothing for limits.silence (5m)", does: ends(hosts.Silent, ""), want: []string{"1: failed silence on h1"},
		edit: func(e *plan.Experiment) { e.Limits.Silence = ptr(plan.Duration(5 * time.Minute)) },
	},
	{cause: CauseOOMGPU, told: "out of GPU memory: " + oomText, edit: onGPU, does: prints(1, oomText+"\n"), want: []string{"1: failed oom_gpu on h1"}},
	{cause: CauseKilled, told: "killed by signal 9 (memory is the usual cause)", does: prints(137, "epoch 3\n"), want: []string{"1: failed killed on h1"}},
	{cause: CauseKilled, told: "killed by signal 9 (memory is the usual cause)", edit: retry(9, "killed"), does: prints(137, "epoch 3\n"), want: []string{"1: failed killed on h1 h1"}},
	{
		cause: CauseNotFound, told: "the command could not be run on h1: train: not found (PATH was /usr/bin:/bin)", trials: 3, edit: canary,
		does:  once(hosttest.Script{Took: time.Second, Code: 127, Path: "/usr/bin:/bin", Log: "/c/jobs/x/job: 6: exec: train: not found\n"}),
		other: ok, want: []string{"1: failed not_found on h1", "2: succeeded on h2", "3: succeeded on h2"},
	},
	{
		cause: CauseNotFound, told: "the command could not be run on h1: train: not found", trials: 3, edit: both(canary, retry(9, "exit")),
		does: prints(127, "/c/jobs/x/job: 6: exec: train: not found\n"), want: []string{"1: failed not_found on h1", "2: not_run not_found", "3: not_run not_found"},
	},
	{
		cause: CauseMissingDependency, told: "something is missing on h1: ModuleNotFoundError: No module named 'torch' (PATH was /usr/bin:/bin)", trials: 3, edit: canary,
		does:  once(hosttest.Script{Took: time.Second, Code: 1, Path: "/usr/bin:/bin", Log: "ModuleNotFoundError: No module named 'torch'\n"}),
		other: ok, want: []string{"1: failed missing_dependency on h1", "2: succeeded on h2", "3: succeeded on h2"},
	},
	{cause: CauseNoMetric, told: "ended well, but never printed loss; it printed val/loss = 1, line 1", does: prints(0, "val/loss: 1\n"), want: []string{"1: failed no_metric on h1"}},
	{cause: CauseMetricError, told: `metric loss: line 1, column 7: loss is printed as "1,234.5", which is no number as it stands`, does: prints(0, "loss: 1,234.5\n"), want: []string{"1: failed metric_error on h1"}},
	{cause: CauseDiverged, told: "loss is not finite (line 1)", trials: 2, does: func(j job) hosttest.Script {
		if j.x() == "1" {
			return prints(0, "loss: nan\n")(j)
		}
		return ok(j)
	}, want: []string{"1: failed diverged on h1", "2: succeeded on h1"}},
	{cause: CauseSync, told: "start job x: no such tree", does: once(hosttest.Script{Refuse: errors.New("start job x: no such tree")}), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{cause: CauseDiskFull, told: "no space left on h1", does: prints(1, "OSError: [Errno 28] No space left on device\n"), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{cause: CauseDiskFull, told: "disk full", does: once(hosttest.Script{Refuse: hosts.ErrDiskFull}), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{cause: CauseGPULost, told: "a GPU that it had is not there any more (`nvidia-smi`, and the kernel's log, tell more)", edit: onGPU, does: ends(hosts.GPULost, ""), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{cause: CauseNoGPUSeen, told: "the program found no GPU though it has some: No CUDA GPUs are available", edit: onGPU, does: prints(1, "RuntimeError: No CUDA GPUs are available\n"), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{
		cause: CauseSetup, told: "setup failed on h1 with exit status 3: no network", other: ok, want: []string{"1: succeeded on h1 h2"},
		does: once(hosttest.Script{Code: 3, Step: "setup", StepLogs: map[string]string{"setup": "no network\n"}}),
	},
	{cause: CauseNeverStarted, told: "was handed to the host but never started: its supervisor is gone", does: once(hosttest.Script{End: hosts.NeverStarted, Code: -1, Reason: "its supervisor is gone"}), other: ok, want: []string{"1: succeeded on h1 h2"}},
	{cause: CauseVanished, told: "gone without an exit status: the machine was rebooted", does: ends(hosts.Vanished, "the machine was rebooted"), other: ok, want: []string{"1: succeeded on h1 h2"}},
	// Where there is no other host, the fault of the only one is a failure.
	{cause: CauseVanished, told: "gone without an exit status: the machine was rebooted", does: ends(hosts.Vanished, "the machine was rebooted"), want: []string{"1: failed vanished on h1"}},
	{cause: CauseHostDown, told: "no host could be used (h1: host does not answer)", want: []string{"1: not_run host_down"}, run: func(l *lab) Outcome {
		l.host("h1", 1, ok).Unreachable(true)
		return l.run("r1")
	}},
	{cause: CauseUpstream, told: "input base: no trial of e has a result", want: []string{"1: failed exit on h1", "1: not_run upstream"}, run: func(l *lab) Outcome {
		l.chained(1, "best", "model.pt")
		l.host("h1", 1, prints(1, "boom\n"))
		return l.run("r1")
	}},
	{
		cause: CauseFuse, told: "5 trials failed in the same way and none succeeded since; the last: exit status 1: boom", trials: 8, does: prints(1, "boom\n"),
		want: append(times(6, "%d: failed exit on h1"), "7: not_run fuse", "8: not_run fuse"),
	},
	{cause: CauseBudget, told: "budget.runs is 1", trials: 2, want: []string{"1: succeeded on h1", "2: not_run budget"}, run: func(l *lab) Outcome {
		l.host("h1", 1, ok)
		return l.bounded("r1", Bounds{Budget: &plan.Budget{Runs: ptr(1)}})
	}},
	{cause: CauseDeadline, told: "the deadline was 23:59 on 1999-12-31", want: []string{"1: not_run deadline"}, run: func(l *lab) Outcome {
		l.host("h1", 1, ok)
		return l.bounded("r1", Bounds{Deadline: time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC)})
	}},
	{cause: CauseCancelled, told: "stopped: xrun stop", trials: 2, want: []string{"1: cancelled cancelled on h1", "2: succeeded on h1"}, run: func(l *lab) Outcome {
		l.host("h1", 1, ok)
		q := Request{Experiment: "e", Trial: l.plan().Experiments[0].Trials[0].ID, Now: true, Reason: "xrun stop"}
		return l.asking("r1", 30*time.Second, q)
	}},
}

// perform plays a row in a lab and returns what became of its trials, and every message that the user is told of the cause.
func (row causeRow) perform(l *lab) (story, told []string) {
	first := "h1"
	switch {
	case row.other != nil:
		first = ""
		for _, name := range []string{"h1", "h2"} {
			l.host(name, 1, func(j job) hosttest.Script {
				if first == "" || first == name {
					first = name
					return row.does(j)
				}
				return row.other(j)
			}).GPUs(gpus(24)...)
		}
	case row.does != nil:
		l.host("h1", 1, row.does).GPUs(gpus(24)...)
	}
	if row.run != nil {
		row.run(l)
	} else {
		l.run("r1")
	}
	for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
		if f.Cause == string(row.cause) {
			told = append(told, f.Message)
		}
	}
	for _, f := range bodies[ledger.TrialFinished](l, "r1") {
		if f.Cause == string(row.cause) {
			told = append(told, f.Message)
		}
	}
	swap := strings.NewReplacer()
	if first == "h2" {
		swap = strings.NewReplacer("h1", "h2", "h2", "h1")
	}
	for _, s := range l.story("r1") {
		story = append(story, swap.Replace(s))
	}
	for i := range told {
		told[i] = swap.Replace(told[i])
	}
	return story, slices.Compact(told)
}

func TestCausesAreToldAndDealtWith(t *testing.T) {
	for _, row := range causeRows {
		t.Run(string(row.cause)+": "+row.told, func(t *testing.T) {
			inLab(t, max(1, row.trials), row.edit, func(l *lab) {
				story, told := row.perform(l)
				if diff := cmp.Diff(row.want, story); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff([]string{row.told}, told); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Whatever a host is to blame for is tried at most once there and three times in all, and is nothing that retry counts.
func TestTheFaultsOfHostsAreTriedElsewhere(t *testing.T) {
	done := map[Cause]bool{}
	for _, row := range causeRows {
		if policy(row.cause).Blame != BlameHost || row.does == nil || done[row.cause] {
			continue
		}
		done[row.cause] = true
		t.Run(string(row.cause), func(t *testing.T) {
			inLab(t, 1, both(retry(1, "exit"), func(e *plan.Experiment) {
				if row.edit != nil {
					row.edit(e)
				}
			}), func(l *lab) {
				for _, h := range []string{"a", "b", "c", "d"} {
					l.host(h, 1, row.does).GPUs(gpus(24)...)
				}
				l.run("r1")
				tried := bodies[ledger.AttemptFinished](l, "r1")
				if len(tried) != 3 || tried[0].Host == tried[1].Host || tried[1].Host == tried[2].Host || tried[2].Host == tried[0].Host {
					t.Errorf("%+v", tried)
				}
				if end := bodies[ledger.TrialFinished](l, "r1"); len(end) != 1 || end[0].State != ledger.Failed || Cause(end[0].Cause) != row.cause {
					t.Errorf("%+v", end)
				}
			})
			inLab(t, 1, both(retry(1, "exit"), func(e *plan.Experiment) {
				if row.edit != nil {
					row.edit(e)
				}
			}), func(l *lab) {
				n := 0
				for _, h := range []string{"a", "b"} {
					l.host(h, 1, func(j job) hosttest.Script {
						switch n++; n {
						case 1:
							return row.does(j)
						case 2:
							return prints(3, "flaky\n")(j)
						}
						return ok(j)
					}).GPUs(gpus(24)...)
				}
				wantOutcome(t, l.run("r1"), "done", 0)
			})
		})
	}
}

// Out of GPU memory, and retry asks for another: on a larger one where there is one, else on the same.
func TestOutOfGPUMemoryIsTriedAsAskedAndWhereThereIsMore(t *testing.T) {
	for want, has := range map[string][]int64{"0 0": {24}, "0 1": {24, 80}} {
		inLab(t, 1, both(retry(1, "oom_gpu"), onGPU), func(l *lab) {
			l.host("h1", 1, failing(1, 1, oomText+"\n")).GPUs(gpus(has...)...)
			wantOutcome(t, l.run("r1"), "done", 0)
			if got := had(l); got != want {
				t.Errorf("GPUs of %v GB: on %s, not %s", has, got, want)
			}
		})
	}
}

// notHere are the causes that no host can have yet.
var notHere = map[Cause]string{CausePreempted: "only Slurm takes jobs back"}

func TestEveryCauseHasATest(t *testing.T) {
	for _, p := range Policies {
		tested := slices.ContainsFunc(causeRows, func(r causeRow) bool { return r.cause == p.Cause })
		if tested == (notHere[p.Cause] != "") {
			t.Errorf("%s: a test is %v, and %q", p.Cause, tested, notHere[p.Cause])
		}
	}
	for _, r := range causeRows {
		if policy(r.cause).Seen == "" || strings.TrimSpace(r.told) == "" {
			t.Errorf("%s is no row of the table, or nothing is told of it", r.cause)
		}
	}
}
