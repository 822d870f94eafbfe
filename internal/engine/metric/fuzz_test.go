package metric

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type outcome struct {
	Readings []Reading
	Results  []Result
	Extras   *float64
	Final    *FinalResults
	Notes    []string
}

func extract(log []byte, cut bool, size func() int) outcome {
	var o outcome
	x := New([]Want{{Name: "loss", Pick: "last"}, {Name: "val.acc", Pick: "mean"}, {Name: "a", Pick: "min"}}, func(r Reading) { o.Readings = append(o.Readings, r) })
	for len(log) > 0 {
		n := max(1, min(len(log), size()))
		x.Write(log[:n])
		log = log[n:]
	}
	x.Close(cut)
	o.Results, o.Extras, o.Final, o.Notes = x.Results(), x.Extras(), x.Final(), x.Notes()
	return o
}

// FuzzExtract: however a log is split, it says the same; and nothing panics.
func FuzzExtract(f *testing.F) {
	for _, s := range []string{
		"loss: 1\nloss=2\r\nstep 3 loss 4\r\r\n",
		"\x1b[32mloss\x1b[0m: 0.5\x1b]0;t\x07\n{\"val\": {\"acc\": 0.5}, \"step\": 2}\n",
		"FINAL_RESULTS: {\"primary_metric\": \"a\", \"best_method\": \"m\", \"per_method\": {\"m\": {\"a\": 1}}}",
		"{'loss': nan, 'a': np.float64(3), 'x': [1, (2, 3)], 'k': None}\npeak_vram_mb: 3\n",
		"Epoch 1/3\nloss: 1,234.5 71.59%\nEPOCH=2 a: 1_0\r\nlos: 3",
		"% 10%|█| {'loss': 1}\n\ufeffloss 3\x00",
	} {
		f.Add([]byte(s), uint8(3), uint16(0))
		f.Add([]byte(s), uint8(2), uint16(0x1231))
	}
	f.Fuzz(func(t *testing.T, log []byte, seed uint8, pad uint16) {
		long := pad%16 == 1
		if long { // now and then the edges of chunks and of long lines
			log = append([]byte(strings.Repeat(strings.Repeat("lorem ipsum ", 100)+string(log), 1+int(pad/16)%400)), log...)
			log = log[:min(len(log), 2<<20)]
		}
		cut := seed%2 == 1
		whole := extract(log, cut, func() int { return len(log) })
		state := uint32(seed) + 1
		split := extract(log, cut, func() int {
			state = state*1664525 + 1013904223
			n := 1 + int(state>>24)%17
			if long {
				n *= 4096
			}
			return n
		})
		if long {
			whole.Readings, split.Readings = nil, nil
		}
		if diff := cmp.Diff(whole, split, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%q: %s", log[max(0, len(log)-200):], diff)
		}
	})
}

// FuzzNumber: what is read is what strconv reads of the same text, and a token is a number as a whole or not at all.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-7.5E-05", ".5", "5.", "1,234.5", "0x1p-2", "1_0", "nan", "-inf", "1e400", "+", "1e", "--1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, k := parseNumber(s)
		switch k {
		case number:
			want, err := strconv.ParseFloat(s, 64)
			if err != nil || want != v || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "_xXpP, ") {
				t.Errorf("%q: %v, strconv says %v %v", s, v, want, err)
			}
		case odd:
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				t.Errorf("%q: %v", s, v)
			}
		}
		if strings.ContainsAny(s, "\n\r") {
			return
		}
		// Whatever stands behind "loss=", a reading has the whole token as its text.
		var got []string
		x := New([]Want{{Name: "loss", Pick: "last"}}, func(r Reading) { got = append(got, r.Text) })
		fmt.Fprintf(x, "loss=%s\n", s)
		x.Close(false)
		for _, text := range got[:min(1, len(got))] {
			rest := strings.TrimLeft(s, " \t\"'")
			if !strings.HasPrefix(rest, text) && !strings.Contains(s, "\x1b") {
				t.Errorf("%q is read as %q", s, text)
			}
			if after := strings.TrimPrefix(rest, text); after != "" && (isDigit(after[0]) || strings.ContainsAny(after[:1], ".eE_%:x+-")) && !strings.Contains(s, "\x1b") {
				t.Errorf("%q is cut to %q", s, text)
			}
		}
	})
}
