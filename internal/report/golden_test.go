package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const traceback = `Traceback (most recent call last):
  File "train.py", line 88, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
`

// good is a sweep of two axes and three seeds; batch 32 and 64 differ by less than their noise.
func good(id string) *builder {
	b := newRun(id).sweep("lr", 3, "minimize val_loss", "lr=0.001,0.01,0.1", "batch=32,64")
	for i, level := range []float64{0.31, 0.312, 0.25, 0.252, 0.231, 0.2325} {
		lr, batch := []string{"0.001", "0.01", "0.1"}[i/2], []string{"32", "64"}[i%2]
		for seed, noise := range []float64{0.0021, -0.0012, -0.0009} {
			b.ok("lr", fmt.Sprintf("lr=%s batch=%s seed=%d", lr, batch, seed), level+noise)
		}
	}
	return b.done("done", 0)
}

func reused() *builder {
	b := newRun("20260103-aaaa").sweep("lr", 2, "minimize val_loss", "lr=0.1,0.2")
	for i, lr := range []string{"0.1", "0.2"} {
		for seed := range 2 {
			b.reuse("lr", fmt.Sprintf("lr=%s seed=%d", lr, seed), "20260102-aaaa", 0.25+float64(i)*0.1)
		}
	}
	return b.done("done", 0)
}

func failures() *builder {
	b := newRun("20260104-aaaa").sweep("lr", 2, "minimize val_loss", "lr=0.001,0.01,0.1,1")
	b.ok("lr", "lr=0.001 seed=0", 0.31).ok("lr", "lr=0.001 seed=1", 0.30)
	b.ok("lr", "lr=0.01 seed=0", 0.25)
	b.fail("lr", "lr=0.01 seed=1", "oom_gpu", "CUDA out of memory", traceback)
	b.fail("lr", "lr=0.1 seed=0", "oom_gpu", "CUDA out of memory", traceback)
	b.fail("lr", "lr=0.1 seed=1", "timeout", "did not end within 6h", "epoch 3 val_loss: 0.40\n", func(f *ledger.AttemptFinished) {
		f.Partial, f.Metrics, f.ExitCode = true, map[string]ledger.Number{"val_loss": 0.40}, nil
		f.Notes = []string{"val_loss was not found; near: val/loss = 0.91, line 12"}
	})
	b.fail("lr", "lr=1 seed=0", "diverged", "val_loss is nan", "epoch 1 val_loss: nan\n", func(f *ledger.AttemptFinished) {
		f.Metrics = map[string]ledger.Number{"val_loss": ledger.Number(math.NaN()), "acc": ledger.Number(math.Inf(1))}
		f.Objective = ptr(ledger.Number(math.NaN()))
		f.ExitCode = ptr(0)
	})
	b.skip("lr", "lr=1 seed=1", "fuse", "three trials failed in one way")
	b.add(ledger.HostState{Host: "gpu-b", Kind: "ssh", Slots: 1, State: "refused", Reason: "host key is not known"})
	b.add(ledger.Warning{Message: "data imagenet has no version"})
	return b.done("some_failed", 3)
}

func interrupted() *builder {
	b := newRun("20260105-aaaa").sweep("lr", 2, "maximize acc", "lr=0.001,0.01,0.1")
	b.ok("lr", "lr=0.001 seed=0", 0.31).ok("lr", "lr=0.001 seed=1", 0.30)
	b.start("lr", "lr=0.01 seed=0")
	b.wait(30)
	return b.add(ledger.RunInterrupted{Reason: "interrupt", ExitCode: 130, Running: 1})
}

// killed has no end at all, a trial whose outcome is there and whose TrialFinished is not, and a host that went away.
func killed() *builder {
	b := newRun("20260106-aaaa").sweep("lr", 1, "minimize val_loss", "lr=0.001,0.01,0.1")
	b.ok("lr", "lr=0.001 seed=0", 0.31)
	b.events = b.events[:len(b.events)-1]
	a := b.start("lr", "lr=0.01 seed=0")
	return b.wait(30).add(ledger.AttemptState{Attempt: a, State: ledger.Unknown, Reason: "no route to host"})
}

var nastyStrings = []string{
	"cheap | fast", `a\|b`, "two\nlines", strings.Repeat("long ", 1000), "<img src=x onerror=alert(1)>",
	"\x1b]0;title\x07", "`tick` and ```fence```", "a\u202eb\u200fc", "@octocat #1 https://example.com **bold** _x_", "", "\xff\xfe",
}

func nasty() *builder {
	var points []plan.Params
	for _, s := range nastyStrings {
		points = append(points, plan.Params{{Name: "na|me", Value: plan.StringValue(s)}})
	}
	b := newRun("20260107-aaaa").plan("names", 1, "minimize val|loss", []ledger.Axis{{Name: "na|me"}}, points)
	for i, key := range b.specs["names"].order {
		if i%2 == 0 {
			b.ok("names", key, float64(i))
			continue
		}
		b.fail("names", key, "exit", "exit 1: "+nastyStrings[i], "before\n````\n"+nastyStrings[i]+"\n<b>after</b>")
	}
	return b.add(ledger.Warning{Message: "odd: " + strings.Join(nastyStrings[4:9], " ")}).done("some_failed", 3)
}

func single() *builder {
	b := newRun("20260108-aaaa").sweep("train", 3, "maximize acc")
	return b.ok("train", "seed=0", 0.912).ok("train", "seed=1", 0.915).ok("train", "seed=2", 0.909).done("done", 0)
}

func unusable() *builder {
	b := newRun("20260109-aaaa").sweep("lr", 1, "minimize val_loss", "lr=0.1,0.2")
	b.fail("lr", "lr=0.1 seed=0", "exit", "exit 1: ModuleNotFoundError: No module named 'torch'", "ModuleNotFoundError: No module named 'torch'\n")
	b.fail("lr", "lr=0.2 seed=0", "exit", "exit 1: ModuleNotFoundError: No module named 'torch'", "ModuleNotFoundError: No module named 'torch'\n")
	return b.done("nothing_usable", 4)
}

// worlds are the runs that the golden files show.
func worlds() map[string]*builder {
	return map[string]*builder{
		"good": good("20260102-aaaa"), "reused": reused(), "failures": failures(), "interrupted": interrupted(),
		"killed": killed(), "nasty": nasty(), "single": single(), "unusable": unusable(),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

func TestReportFiles(t *testing.T) {
	for name, b := range worlds() {
		r := report.Fold(b.events).Report(report.Options{XrunVersion: "0.1.0"})
		golden(t, name+".md", r.Markdown())
		golden(t, name+".json", r.JSON())
	}
}

func TestLiveLines(t *testing.T) {
	for name, b := range worlds() {
		for _, quiet := range []bool{false, true} {
			var out bytes.Buffer
			l := report.NewLive(&out, quiet)
			for _, e := range b.events {
				l.Handle(e)
			}
			if quiet {
				name += ".quiet"
			}
			golden(t, name+".live", out.Bytes())
		}
	}
}
