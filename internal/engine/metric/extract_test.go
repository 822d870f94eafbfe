package metric

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// read feeds a log in one piece and returns the readings, as "metric=text@step:line".
func read(log string, wants ...Want) (x *Extractor, readings []string) {
	x = New(wants, func(r Reading) {
		step := ""
		if r.Step != nil {
			step = fmt.Sprintf("@%v", *r.Step)
		}
		readings = append(readings, fmt.Sprintf("%s=%s%s:%d", r.Metric, r.Text, step, r.Line))
	})
	x.Write([]byte(log))
	x.Close(false)
	return x, readings
}

func last(names ...string) []Want {
	var out []Want
	for _, n := range names {
		out = append(out, Want{Name: n, Pick: "last"})
	}
	return out
}

func TestForms(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{"val_loss: 1.5e-05", "val_loss=1.5e-05:1"},
		{"val_loss=-0.3", "val_loss=-0.3:1"},
		{"val_loss = -0.3", "val_loss=-0.3:1"},
		{"val_loss :0.3", "val_loss=0.3:1"},
		{"val_loss 12", "val_loss=12:1"},
		{"  val_loss   12 acc 3", "val_loss=12:1"},
		{"the val_loss 12", ""},
		{"val_loss improved from inf to 0.5", ""},
		{"METRIC val_loss=0.25", "val_loss=0.25:1"},
		{"[12:30:01] INFO | val_loss: 0.5 | acc: 0.9", "val_loss=0.5:1 acc=0.9:1"},
		{"acc=0.9, val_loss=0.5, x=1", "acc=0.9:1 val_loss=0.5:1"},
		{"acc=0.9,val_loss=0.5;x=1", "acc=0.9:1 val_loss=0.5:1"},
		{"1875/1875 - 2s - loss: 0.3 - val_loss: 0.5 - acc: 0.9", "val_loss=0.5:1 acc=0.9:1"},
		{"(val_loss=0.5)", "val_loss=0.5:1"},
		{"[val_loss: 0.5]", "val_loss=0.5:1"},
		{`val_loss="0.5" acc='0.9'`, "val_loss=0.5:1 acc=0.9:1"},
		{"│ val_loss: 0.5│", "val_loss=0.5:1"},
		{"\ufeffval_loss 0.5", "val_loss=0.5:1"},
		{"\x00\x00val_loss: 0.5\x00", "val_loss=0.5:1"},
		{"\xff\xfe val_loss: 0.5 \xff", "val_loss=0.5:1"},
		{`{"val_loss": 0.31, "acc": "0.9"}`, "val_loss=0.31:1 acc=0.9:1"},
		{`  {"a": {"val_loss": 1}, "val_loss": 2, "l": [{"val_loss": 3}]}  `, "val_loss=2:1"},
		{"\ufeff{\"val_loss\": 0.31}", "val_loss=0.31:1"},
		{`{'val_loss': 0.31, 'ok': True, 'none': None, 't': (1, 'x'), 'epoch': 2.0}`, "val_loss=0.31@2:1"},
		{`{'val_loss': np.float64(0.31), 'acc': tensor(0.5, device='cuda:0')}`, "val_loss=0.31:1"},
		{`{'val_loss': nan, "acc": -Infinity}`, "val_loss=nan:1 acc=-Infinity:1"},
		{`{"val_loss": NaN}`, "val_loss=NaN:1"},
		{`INFO {"val_loss": 0.31}`, ""},
		{`{"val_loss": 0.31} trailing`, ""},
		{` 10%|█   | 1/10 [00:01<00:09, 5.0it/s, acc=0.2]{'val_loss': 0.5}`, "acc=0.2:1 val_loss=0.5:1"},
		{`{"metric_name": "val_loss", "metric_value": 0.31, "memory_gb": 11.2, "time_min": 4.1, "extra": {"acc": 1}}`, "val_loss=0.31:1"},
		{`FINAL_RESULTS: {"primary_metric": "acc", "candidate_method": "ours", "per_method": {"base": {"acc": 0.5}, "ours": {"acc": 0.75}}}`, "acc=0.75:1"},
		{`FINAL_RESULTS: {"primary_metric": "acc", "best_method": "base", "per_method": {"base": {"metric_value": 0.5}}}`, "acc=0.5:1"},
		{"val/acc: 1\ntrain.acc=2\nacc@5: 3\nacc_top: 4\nmy-acc: 5\nacc: 6\nΔacc: 7\naccé: 8", "acc=6:6"},
		{"acc: 1\racc: 2\r\nacc: 3\n\nacc: 4\r\r\nacc: 5", "acc=1:1 acc=2:2 acc=3:3 acc=4:5 acc=5:7"},
		{"step=5 acc=0.5\nacc=0.6\nepoch: 2\nacc=0.7\nEpoch [3/10] Step [20/100] acc=0.8\nEpoch 4/10\nacc 0.9\nepoch 5: acc=1", "acc=0.5@5:1 acc=0.6@5:2 acc=0.7@2:4 acc=0.8@20:5 acc=0.9@4:7 acc=1@5:8"},
		{"{\"step\": 7}\nacc: 1\n{'epoch': 3, 'acc': 2}\n{\"acc\": 3, \"STEP\": \"9\"}", "acc=1@7:2 acc=2@3:3 acc=3@9:4"},
		{"\x1b[2K\x1b[32mval_loss: \x1b[1m0.5\x1b[0m", "val_loss=0.5:1"},
		{"acc=0.1\x1b[Aacc=0.2\x1b[K", "acc=0.1:1 acc=0.2:1"},
		{"\x1b]0;acc: 9\x07acc: 1 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ val_loss: 2", "acc=1:1 val_loss=2:1"},
		{"val\x1b[1m_loss: 3", "val_loss=3:1"},
		{"acc:", ""},
		{"acc: acc: 1", "acc=1:1"},
	} {
		_, got := read(c.log, last("val_loss", "acc")...)
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: %s", c.log, diff)
		}
		// The same behind so much text that only the fast path is used.
		x, _ := read("val_loss: 1\nacc: 1\n", last("val_loss", "acc")...)
		n := 0
		x.on = func(Reading) { n++ }
		x.Write([]byte(c.log))
		x.Close(false)
		if n != len(got) {
			t.Errorf("%q: %d readings on the fast path, want %d", c.log, n, len(got))
		}
	}
}

// C01, kubeflow/katib#1702: -7.5e-05 stored as -7.5.
func TestC01ExponentIsNeverCutOff(t *testing.T) {
	for text, want := range map[string]float64{
		"1.2e-05": 1.2e-05, "-7.5E-05": -7.5e-05, "4.2E+8": 4.2e8, ".5": 0.5, "+3": 3, "5.": 5, "6.05e-06": 6.05e-06, "1e5": 1e5, "-0": 0, "007": 7,
	} {
		for _, form := range []string{"val_loss: %s", "val_loss=%s, x", "val_loss %s", `{"val_loss": %s}`, `{"val_loss": "%s"}`, "METRIC val_loss=%s\n"} {
			x, _ := read(fmt.Sprintf(form, text), last("val_loss")...)
			if r := x.Results()[0]; !r.Found || r.Value != want || r.Problem != "" || r.Failed {
				t.Errorf(form+": %+v", text, r)
			}
		}
	}
	for _, text := range []string{"71.59%", "1,234.5", "0,123", "1.5e-05x", "12:30", "1_000", "0x1p-2", "1.2.3", "1e", "1e+", "0.5±0.1", "0.5s", "3/4", "1e400", "\u22120.5", "71.59 %", "0.5e-05.", "1-2"} {
		for _, form := range []string{"ok\nval_loss: %s (9332/13036)", "ok\nval_loss=%s", "ok\nval_loss %s"} {
			x, got := read(fmt.Sprintf(form, text), last("val_loss")...)
			r := x.Results()[0]
			if r.Found || len(got) > 0 || !r.Failed || !strings.Contains(r.Problem, "line 2, column 1") || !strings.Contains(r.Problem, fmt.Sprintf("%q", text)) || r.ProblemLine != 2 {
				t.Errorf(form+": %v %+v", text, got, r)
			}
		}
		x, got := read(fmt.Sprintf(`{"val_loss": "%s"}`, text), last("val_loss")...)
		if r := x.Results()[0]; r.Found || len(got) > 0 || !r.Failed {
			t.Errorf("quoted %s: %+v", text, r)
		}
	}
}

func TestProblemCountsAtOrBehindThePickedValue(t *testing.T) {
	for _, c := range []struct {
		pick   string
		log    string
		value  float64
		failed bool
	}{
		{"last", "a: 71%\na: 0.5", 0.5, false},
		{"last", "a: 0.5\na: 71%", 0.5, true},
		{"first", "a: 71%\na: 0.5\na: 0.6", 0.5, false},
		{"min", "a: 0.5\na: 71%\na: 0.7", 0.5, true},
		{"min", "a: 0.5\na: 71%\na: 0.3", 0.3, false},
		{"mean", "a: 71%\na: 1\na: 2", 1.5, false},
		{"last", "a: 0.5\na: see below", 0.5, false},
	} {
		x, _ := read(c.log, Want{Name: "a", Pick: c.pick})
		if r := x.Results()[0]; r.Value != c.value || r.Failed != c.failed || (r.Problem == "") != !strings.Contains(c.log, "%") {
			t.Errorf("%+v: %+v", c, r)
		}
	}
	x, _ := read("loss: mse\n", last("loss")...)
	if r := x.Results()[0]; r.Found || !strings.Contains(r.Problem, `line 1, column 7: loss is printed as "mse", which is not a number`) {
		t.Errorf("%+v", r)
	}
}

// C02, kubeflow/katib#2723: a run that ends in nan became the optimum.
func TestC02NonFiniteDiverges(t *testing.T) {
	for _, text := range []string{"nan", "NaN", "-nan", "inf", "-inf", "+Inf", "Infinity", "INFINITY"} {
		for pick, want := range map[string]bool{"last": true, "first": false, "min": true, "max": true, "mean": true} {
			x, got := read("val_loss: 0.9\nval_loss: "+text+"\n", Want{Name: "val_loss", Pick: pick})
			r := x.Results()[0]
			if r.Diverged != want || !r.Found || r.Count != 2 || len(got) != 2 || math.IsNaN(r.Value) != want {
				t.Errorf("%s %s: %+v", text, pick, r)
			}
		}
	}
	x, _ := read("val_loss: nan\nval_loss: 0.9", last("val_loss")...)
	if r := x.Results()[0]; r.Diverged || r.Value != 0.9 {
		t.Errorf("%+v", r)
	}
}

// C22, wandb/client-ng#152: a progress bar is one giant line for a scanner.
func TestC22ProgressBars(t *testing.T) {
	bar := strings.Repeat("\r 37%|███▋ | 370/1000 loss=0.42", 20<<20/36)
	end := "\x1b[2K\x1b[32mval_loss: 0.5\x1b[0m\n"
	x, _ := read(bar+end, last("val_loss", "loss")...)
	r := x.Results()
	if !r[0].Found || r[0].Value != 0.5 || r[1].Count != 20<<20/36 || r[1].Value != 0.42 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		log   string
		cut   bool
		found bool
	}{
		{"val_loss: 0.5", false, true},
		{"val_loss: 0.5", true, false},
		{"val_loss: 0.5\r", true, true},
		{"val_loss: 0.5\n", true, true},
	} {
		x := New(last("val_loss"), nil)
		x.Write([]byte(c.log))
		x.Close(c.cut)
		if got := x.Results()[0].Found; got != c.found {
			t.Errorf("%q cut %v: found %v", c.log, c.cut, got)
		}
	}
}

func TestLineWithoutEndStaysInMemoryBounds(t *testing.T) {
	x := New(last("val_loss", "acc"), nil)
	piece := bytes.Repeat([]byte("x"), 64<<10)
	words := bytes.Repeat([]byte("lorem ipsum "), 5000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 320 {
		x.Write(piece)
	}
	x.Write([]byte(" acc: 0.25 "))
	for range 320 {
		x.Write(words)
	}
	x.Write([]byte(" val_loss: 0.5\nval_loss: 0.25\n"))
	runtime.GC()
	runtime.ReadMemStats(&after)
	x.Close(false)
	r := x.Results()
	if r[0].Value != 0.25 || r[0].Count != 2 || r[0].Line != 2 || r[1].Value != 0.25 {
		t.Errorf("%+v", r)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes more on the heap", grown)
	}
	if len(x.Notes()) != 1 || !strings.Contains(x.Notes()[0], "line 1 is longer than 1 MiB") {
		t.Error(x.Notes())
	}
}

// C26, ray-project/ray_lightning#81 and BiaPyX/BiaPy#107: last or best, running means, near misses, ranks.
func TestC26PicksAndNearMisses(t *testing.T) {
	log := "epoch 1 val_loss=0.9\nepoch 2 val_loss=0.4\nepoch 3 val_loss=0.7\n"
	for pick, want := range map[string]struct {
		value float64
		line  int64
		step  float64
	}{"last": {0.7, 3, 3}, "first": {0.9, 1, 1}, "min": {0.4, 2, 2}, "max": {0.9, 1, 1}, "mean": {(0.9 + 0.4 + 0.7) / 3, 3, 3}} {
		x, _ := read(log, Want{Name: "val_loss", Pick: pick})
		r := x.Results()[0]
		if math.Abs(r.Value-want.value) > 1e-15 || r.Line != want.line || r.Step == nil || *r.Step != want.step || r.Count != 3 || r.Conflict != "" {
			t.Errorf("%s: %+v", pick, r)
		}
	}
	x, got := read("loss: 0.1176 (0.3019)  acc: 0.5 (0.4)  val_loss: 0.5\n", last("loss", "val_loss")...)
	if diff := cmp.Diff([]string{"loss=0.1176:1", "val_loss=0.5:1"}, got); diff != "" || len(x.Results()[0].Problem) > 0 {
		t.Error(diff)
	}
	x, _ = read("val_loss=0.5\nloss_scale=1024\nLoss: 0.6\nlos: 0.7\nlr=0.1\n{\"train\": {\"loss\": 0.8}}\nval/loss: 0.9\nval_loss=0.4\n", last("loss")...)
	want := []string{"Loss = 0.6, line 3", "train.loss = 0.8, line 6", "val/loss = 0.9, line 7", "val_loss = 0.4, line 8", "loss_scale = 1024, line 2"}
	if diff := cmp.Diff(want, x.Results()[0].NearMisses); diff != "" || x.Results()[0].Found {
		t.Error(diff)
	}
	x, _ = read("epoch 5 val_loss: 0.41\nepoch 5 val_loss: 0.43\nepoch 5 val_loss: 0.41\n", last("val_loss")...)
	if r := x.Results()[0]; r.Conflict != "printed 3 times with step 5 and values from 0.41 to 0.43, lines 1 to 3" {
		t.Errorf("%+v", r)
	}
	x, _ = read(strings.Repeat("epoch 5 val_loss: 0.41\n", 8), last("val_loss")...)
	if r := x.Results()[0]; r.Conflict != "" || r.Count != 8 {
		t.Errorf("%+v", r)
	}
	x, _ = read("epoch 5 batch 1 val_loss: 0.41\nepoch 5 batch 2 val_loss: 0.4\nepoch 6 val_loss: 0.3", last("val_loss")...)
	if r := x.Results()[0]; r.Conflict != "" {
		t.Errorf("%+v", r)
	}
}

func TestExtras(t *testing.T) {
	for log, want := range map[string]float64{
		"peak_vram_mb: 11234\npeak_vram_mb: 100\n":                      11234,
		`{"metric_name": "a", "metric_value": 0.31, "memory_gb": 11.5}`: 11.5 * 1024,
		"max_peak_vram_mb: 3\n":                                         0,
		"nothing":                                                       0,
	} {
		for _, before := range []string{"", "loss: 1\n"} {
			x, _ := read(before+log, last("loss")...)
			got := x.Extras()
			if want == 0 && got != nil || want != 0 && (got == nil || *got != want) {
				t.Errorf("%q: %v", log, got)
			}
		}
	}
}

func TestFinalResults(t *testing.T) {
	x, _ := read("loss: 1\nFINAL_RESULTS:{\"primary_metric\": \"f1\", \"candidate_method\": \"ours\", \"best_method\": \"ours\", \"num_seeds\": 2, "+
		"\"per_method\": {\"a\": {\"f1\": 0.5, \"n\": NaN}, \"ours\": {\"f1\": \"0.6\", \"note\": \"x\"}}, \"seed_results\": [{\"seed\": 0, \"method\": \"ours\", \"f1\": 0.61, \"ok\": true}, {\"seed\": 1}]}\n", last("loss", "f1")...)
	want := &FinalResults{
		PrimaryMetric: "f1", CandidateMethod: "ours", BestMethod: "ours", NumSeeds: 2,
		PerMethod:   map[string]map[string]float64{"a": {"f1": 0.5, "n": math.NaN()}, "ours": {"f1": 0.6}},
		SeedResults: []map[string]any{{"seed": 0.0, "method": "ours", "f1": 0.61, "ok": true}, {"seed": 1.0}},
	}
	if diff := cmp.Diff(want, x.Final(), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if r := x.Results()[1]; r.Value != 0.6 || r.Count != 1 {
		t.Errorf("%+v", r)
	}
}
