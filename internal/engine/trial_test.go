package engine

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func text(kv ...string) plan.Params {
	var ps plan.Params
	for i := 0; i < len(kv); i += 2 {
		ps = append(ps, plan.Param{Name: kv[i], Value: plan.StringValue(kv[i+1])})
	}
	return ps
}

// C33: no value can lead out of a run's directory, or make two trials share one.
func TestNoValueEscapesItsDirectory(t *testing.T) {
	safe := regexp.MustCompile(`^[a-z0-9=_][a-z0-9.=_-]*$`)
	for want, ps := range map[string]plan.Params{
		"p=.._.._x-s3":            text("p", "../../x"),
		"p=a_b-s3":                text("p", "a b"),
		"p=-rf-s3":                text("p", "-rf"),
		"p=-s3":                   text("p", ""),
		"p=con-s3":                text("p", "con"),
		"p=lr-s3":                 text("p", "Lr"),
		"p=meta-llama_llama-3-s3": text("p", "meta-llama/Llama-3"),
		"lr=1-batch-size=x-s3":    text("optim.lr", "1", "batch-size", "x"),
		"s3":                      nil,
		"p=__-s3":                 text("p", "é\x00"),
	} {
		got := slug(ps, 3)
		if got != want || !safe.MatchString(got) {
			t.Errorf("%q is %s, want %s", ps, got, want)
		}
		dir := home("run", "e", ps, 3, "abc", 2)
		if !filepath.IsLocal(dir) || strings.Count(dir, "/") != 4 || !strings.HasSuffix(dir, "-abc/attempt-2") {
			t.Errorf("%q lies in %s", ps, dir)
		}
	}
	long := home("run", "e", text("p", strings.Repeat("日x", 300)), 0, "abc", 1)
	if name := strings.Split(long, "/")[3]; len(name) > 60 {
		t.Errorf("a name of %d bytes", len(name))
	}
	if a, b := home("r", "e", text("p", "Lr"), 0, "abc", 1), home("r", "e", text("p", "lr"), 0, "abd", 1); strings.EqualFold(a, b) {
		t.Errorf("%s is both", a)
	}
	for _, ps := range []plan.Params{text("-p", "x"), text(".p.", "."), text("+p", "..")} {
		if got := slug(ps, 0); !safe.MatchString(got) {
			t.Errorf("%q is %s", ps, got)
		}
	}
}

func TestAJobGetsItsParametersThreeWays(t *testing.T) {
	silence := plan.Duration(time.Minute)
	e := plan.Experiment{Name: "e", Needs: plan.Needs{GPUs: 2}, Limits: plan.Limits{Trial: plan.Duration(time.Hour), Silence: &silence, Grace: plan.Duration(time.Second)}}
	tr := plan.Trial{ID: "abc", Seed: 7, Params: plan.Params{{Name: "model.lr", Value: plan.FloatValue(1e-5)}, {Name: "name", Value: plan.StringValue("x; touch /tmp/pwn #")}}}
	e.Setup, e.Checkpoint = &plan.Setup{Command: []string{"uv", "sync"}}, &plan.Checkpoint{}
	a := newAttempt("run", &e, &tr, 2, "h")
	a.setup, a.checkpoint = "key", "run.e.abc.1"
	a.data, a.inputs = map[string]string{"d": "/data/d"}, map[string]string{"i": "/runs/i"}
	c := plan.ParseCommand([]string{
		"p", "{name}", "{model.lr}", "{seed}", "{xrun.run}/{xrun.experiment}/{xrun.trial}/{xrun.attempt}", "{xrun.gpus}", "{xrun.out}", "{xrun.setup}", "{xrun.checkpoint}", "{xrun.port}", "{xrun.other}", "{data.d}", "{inputs.i}",
	}, map[string]string{"OUT": "{xrun.out}", "PYTHONUNBUFFERED": "0"})
	place := hosts.Place{Out: "/o", Setup: "/s", Checkpoint: "/c", Params: "/p.json", Port: 4711}
	job, err := jobFor(a, c, place, hosts.Tree{ID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p", "x; touch /tmp/pwn #", "1e-05", "7", "run/e/abc/2", "2", "/o", "/s/key", "/c/run.e.abc.1", "4711", "{xrun.other}", "/data/d", "/runs/i"}, job.Argv); diff != "" {
		t.Error(diff)
	}
	if got := string(job.Params); got != `{"model.lr":1e-05,"name":"x; touch /tmp/pwn #"}`+"\n" {
		t.Errorf("%s", got)
	}
	last := map[string]string{}
	for _, kv := range job.Env {
		k, v, _ := strings.Cut(kv, "=")
		last[k] = v
	}
	want := map[string]string{
		"PYTHONUNBUFFERED": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "MASTER_PORT": "4711", "OUT": "/o",
		"XRUN_RUN_ID": "run", "XRUN_EXPERIMENT": "e", "XRUN_TRIAL_ID": "abc", "XRUN_ATTEMPT": "2", "XRUN_SEED": "7", "XRUN_PARAMS_FILE": "/p.json", "XRUN_OUT": "/o",
		"XRUN_SETUP_DIR": "/s/key", "XRUN_CHECKPOINT_DIR": "/c/run.e.abc.1",
		"XRUN_PARAM_MODEL_LR": "1e-05", "XRUN_PARAM_NAME": "x; touch /tmp/pwn #",
	}
	for k, v := range want {
		if got, ok := last[k]; !ok || got != v {
			t.Errorf("%s is %q, want %q", k, got, v)
		}
	}
	if v, ok := last["CUDA_VISIBLE_DEVICES"]; ok {
		t.Errorf("CUDA_VISIBLE_DEVICES is %q: the host says which GPUs", v)
	}
	e.Needs.GPUs = 0
	if job, err := jobFor(a, c, place, hosts.Tree{}); err != nil || !slices.Contains(job.Env, "CUDA_VISIBLE_DEVICES=") {
		t.Errorf("a trial without GPUs sees some: %q, %v", job.Env, err)
	}
	if job.Limits != (hosts.Limits{Time: time.Hour, Silence: time.Minute, Grace: time.Second}) || job.ID != "run.e.abc.2" || job.Tree.ID != "t" {
		t.Errorf("%+v", job)
	}
}

func TestSeedsAreDrawnTheSameAgainAndBelow2To31(t *testing.T) {
	seen := map[int64]bool{}
	for k := range 2000 {
		s := Seed("r", "e", "confirmation", 3, k)
		if s != Seed("r", "e", "confirmation", 3, k) || s < 0 || s >= 1<<31 {
			t.Fatalf("seed %d is %d", k, s)
		}
		seen[s] = true
	}
	if len(seen) < 1999 {
		t.Errorf("%d different seeds of 2000", len(seen))
	}
	first := Seed("r", "e", "p", 1, 1)
	for _, s := range []int64{Seed("s", "e", "p", 1, 1), Seed("r", "f", "p", 1, 1), Seed("r", "e", "q", 1, 1), Seed("r", "e", "p", 2, 1), Seed("r", "e", "p", 1, 2), Seed("re", "", "p", 1, 1), Seed("r", "e", "p1", 1, 1)} {
		if s == first {
			t.Errorf("two draws give %d", s)
		}
	}
	if first != 1576521605 {
		t.Errorf("the seed is %d: a resumed run must draw what it drew before", first)
	}
}

func TestThinningKeepsTheLastValue(t *testing.T) {
	var vs []ledger.MetricValue
	for i := range 1001 {
		vs = append(vs, ledger.MetricValue{Line: int64(i)})
		got := thin(vs, 200)
		if len(got) != min(200, i+1) || got[len(got)-1].Line != int64(i) {
			t.Fatalf("%d values become %d, the last is %d", i+1, len(got), got[len(got)-1].Line)
		}
		if !slices.IsSortedFunc(got, func(a, b ledger.MetricValue) int { return int(a.Line - b.Line) }) {
			t.Fatal("out of order")
		}
	}
}

func TestEveryCauseHasOneRow(t *testing.T) {
	seen := map[Cause]bool{}
	for _, p := range Policies {
		if seen[p.Cause] || p.Seen == "" || p.Then == "" || policy(p.Cause).Blame != p.Blame {
			t.Errorf("%+v", p)
		}
		seen[p.Cause] = true
	}
	if len(seen) != 24 || policy("new").Blame != BlameCode {
		t.Errorf("%d causes", len(seen))
	}
}
