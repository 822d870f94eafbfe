package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostile is a plan whose texts look like the structure around them.
func hostile(t *testing.T) *Plan {
	t.Helper()
	s := everything(t)
	odd := experiment(func(e *Experiment) {
		e.Name, e.Sweep = "odd", nil
		e.Params = map[string]Value{
			"trials": val("\n      \"trials\": ["), "b": val("<&>\u2028\u00e9\xff\x00\x7f\"\\"), "n": val(1e-5), "t": val(true), "none": {},
		}
		e.Command = []string{"\"trials\": []", "{params}", ""}
	})
	empty := experiment(func(e *Experiment) {
		e.Name, e.Sweep.Exclude = "empty", []Match{{list("lr", 0.1, 0.01)}}
	})
	s.Experiments = append(s.Experiments, odd, empty)
	s.Fill()
	p := build(t, Basis{Spec: s, Warnings: []string{"\n      \"trials\": []"}})
	p.Experiments[0].Trials[0].Changed = []string{"code: a<b>.py", "env"}
	p.Experiments[0].Trials[1].Changed = nil
	p.Experiments[0].Trials[1].EstS = ptr(1e21)
	p.Experiments[1].Trials = nil
	return p
}

func TestAPlanIsWrittenTrialByTrialAsItIsWrittenWhole(t *testing.T) {
	p := hostile(t)
	for name, wrap := range map[string]struct {
		depth int
		wrap  func(*Plan) any
	}{
		"the plan": {0, func(p *Plan) any { return p }},
		"the plan and more": {0, func(p *Plan) any {
			return struct {
				*Plan
				Diff Diff `json:"diff"`
			}{p, Compare(&Plan{}, hostile(t))}
		}},
		"a plan in something": {1, func(p *Plan) any {
			return struct {
				Trials []string `json:"trials"`
				Plan   *Plan    `json:"plan"`
			}{[]string{}, p}
		}},
	} {
		var want, got bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(wrap.wrap(p)); err != nil {
			t.Fatal(err)
		}
		if err := (Writer{Depth: wrap.depth}).Write(&got, p, wrap.wrap); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if p.Experiments[0].Trials[0].ID == "" || len(p.Experiments[2].Trials) == 0 {
		t.Error("writing a plan changes it")
	}
}

// A brokenWriter takes some bytes, then none.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestAPlanThatCannotBeWrittenIsAnError(t *testing.T) {
	p := build(t, Basis{Spec: large(1000)})
	for _, room := range []int{0, 500, 100_000} {
		err := Writer{}.Write(&brokenWriter{room}, p, func(p *Plan) any { return p })
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}
