package metric

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var snippets = []string{
	"loss: 0.5", "loss=1e-3,", "loss 3", " loss: nan", "val.acc: 1", "a: 7", "a=1,234", "xloss=3", "loss", ":", "=", " ", "  ", ",", "0.5", "12", "%",
	"step 3", "step=4 ", "Epoch [2/3]", "epoch: 1e1", "EPOCH=7", "STEP 8", "steps 9", "{\"step\": 5}", "{'epoch': 6, 'loss': 1}", "{\"val\": {\"acc\": \"2\"}}",
	"{", "}", "'", "\"", "\r", "\n", "\r\n", "\n\n", "\x1b[32m", "\x1b[0m", "\x1b[2K", "\x1b]0;x", "\x07", "\x1b", "[", "\x00", "\xff", "\ufeff", "é", "█",
	"FINAL_RESULTS: ", "{\"primary_metric\": \"a\", \"best_method\": \"m\", \"per_method\": {\"m\": {\"a\": 1}}}", "peak_vram_mb: 10", "\"memory_gb\": 2",
	" 10%|█| ", "lorem ipsum dolor sit amet ", "Loss: 4", "val_loss: 9", "los=2", "np.float64(3)", "…",
}

func randomLog(r *rand.Rand, n int) []byte {
	var b strings.Builder
	for range n {
		b.WriteString(snippets[r.IntN(len(snippets))])
		if r.IntN(6) == 0 {
			b.WriteString("\n")
		}
	}
	return []byte(b.String())
}

func TestSplitsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		log := randomLog(r, 1+r.IntN(60))
		cut := r.IntN(2) == 0
		whole := extract(log, cut, func() int { return len(log) })
		split := extract(log, cut, func() int { return 1 + r.IntN(1+r.IntN(40)) })
		if diff := cmp.Diff(whole, split, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%d: %q: %s", i, log, diff)
		}
	}
}

func TestSplitsOfLongLinesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 6 {
		var log []byte
		for len(log) < 3<<20 {
			one := randomLog(r, 200)
			for range 1 + r.IntN(400) {
				log = append(log, one...)
			}
			if i%2 == 0 { // few ends of lines
				log = []byte(strings.NewReplacer("\n", " ", "\r", " ").Replace(string(log)))
				log = append(log, "\nloss: 0.25\n"[r.IntN(3):]...)
			}
		}
		whole := extract(log, false, func() int { return len(log) })
		split := extract(log, false, func() int { return 1 + r.IntN(300<<10) })
		whole.Readings, split.Readings = nil, nil
		if diff := cmp.Diff(whole, split, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%d: %s", i, diff)
		}
	}
}

// What the fast path passes over holds nothing that a full parse of every line would find.
func TestFastPathFindsEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 3000 {
		log := randomLog(r, 1+r.IntN(60))
		var got [2][]Reading
		for k := range got {
			x := New([]Want{{Name: "loss", Pick: "last"}, {Name: "val.acc", Pick: "last"}, {Name: "a", Pick: "last"}}, func(r Reading) { got[k] = append(got[k], r) })
			if x.missing = 0; k == 1 {
				x.missing, x.spent = 1<<30, -1<<60
			}
			x.Write(log)
			x.Close(false)
		}
		if diff := cmp.Diff(got[0], got[1], cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%d: %q: %s", i, log, diff)
		}
	}
}

// Lines without an end to their tokens, their blanks or their nesting: as long as a line may be, and each was gone
// through once for each of its names (minutes). There is no clock here; the allocated bytes are counted, and what is
// gone through without being copied shows as a test that does not end.
func TestLineOfAnyKindIsGoneThroughOnce(t *testing.T) {
	const n = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	for name, c := range map[string]struct{ line, want string }{
		"names in one token":      {fill("loss:"), ""},
		"other names":             {fill("a:"), ""},
		"steps in one token":      {fill("step=1"), ""},
		"steps, then a value":     {fill("step=1") + " loss=2", "loss=2:1"},
		"quotes that do not end":  {fill("loss:'x "), ""},
		"numbers and commas":      {fill("loss=1,"), "loss=1:1"},
		"blanks before the names": {strings.Repeat(" ", n/2) + fill("x loss "), ""},
		"a long key":              {`{"` + fill("k") + `":{` + fill(`"a":1,`) + `},"loss":3}`, "loss=3:1"},
		"a long number":           {"loss=" + fill("1"), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, got := read(c.line+"\n", last("loss")...)
		x.Results()
		runtime.ReadMemStats(&after)
		if len(got) > 0 {
			got = got[:1]
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %.200q, want %q", name, got, c.want)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<30 {
			t.Errorf("%s: %d MiB allocated for a line of %d KiB", name, grown>>20, len(c.line)>>10)
		}
	}
}

func TestLongTokenIsNeverANumber(t *testing.T) {
	x, got := read("loss="+strings.Repeat("1", 1<<16)+"\nloss=1"+strings.Repeat("0", 300)+"\n", last("loss")...)
	if r := x.Results()[0]; len(got) != 1 || !r.Found || r.Problem == "" || r.Failed || r.Value != 1e300 {
		t.Errorf("%.100q %+v", got, r)
	}
}

func TestMeanThatNoNumberHoldsIsNoValue(t *testing.T) {
	x, _ := read("loss=1.7e308\nloss=1.7e308\n", Want{Name: "loss", Pick: "mean"})
	if r := x.Results()[0]; !r.Found || !r.Diverged || !math.IsNaN(r.Value) {
		t.Errorf("%+v", r)
	}
}
