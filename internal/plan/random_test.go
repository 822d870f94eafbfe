package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func bounds(t testing.TB, name, dist, lo, hi string) Dist {
	t.Helper()
	a, b := num(t, lo), num(t, hi)
	return Dist{Name: name, Dist: dist, Min: &a, Max: &b}
}

func draws(r Random) []string {
	var out []string
	for _, p := range r.samples() {
		out = append(out, p.String())
	}
	return out
}

func search(t testing.TB, n int, seed uint64) Random {
	t.Helper()
	return Random{N: n, Seed: seed, Params: []Dist{
		bounds(t, "lr", "loguniform", "1e-5", "1e-1"), bounds(t, "drop", "uniform", "0", "0.5"), bounds(t, "layers", "int", "2", "8"),
		{Name: "opt", Dist: "choice", Values: []Value{val("sgd"), val("adam"), val("lion")}},
	}}
}

// These samples must never change: they are in people's ledgers, by identity.
func TestRandomSamplesAreTheSameForEver(t *testing.T) {
	want := []string{
		"lr=0.000535433979535 drop=0.294342623916 layers=6 opt=sgd",
		"lr=3.77546220497e-05 drop=0.108010367657 layers=7 opt=sgd",
		"lr=0.000542222036954 drop=0.489333834949 layers=6 opt=sgd",
		"lr=0.000207145318239 drop=0.236792044381 layers=5 opt=adam",
	}
	if diff := cmp.Diff(want, draws(search(t, 4, 0))); diff != "" {
		t.Errorf("seed 0:\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"lr=3.63732695174e-05 drop=0.491825045363 layers=4 opt=sgd",
		"lr=0.0760432510814 drop=0.102151049338 layers=2 opt=lion",
	}, draws(search(t, 2, 18446744073709551615))); diff != "" {
		t.Errorf("the largest seed:\n%s", diff)
	}
}

func TestMoreSamplesKeepTheFirst(t *testing.T) {
	if diff := cmp.Diff(draws(search(t, 50, 3)), draws(search(t, 500, 3))[:50]); diff != "" {
		t.Error(diff)
	}
}

func TestAFurtherParameterLeavesTheOthersAsTheyWere(t *testing.T) {
	r := search(t, 20, 1)
	before := r.samples()
	r.Params = append([]Dist{bounds(t, "new", "uniform", "0", "1")}, r.Params...)
	for i, p := range r.samples() {
		if p[1:].String() != before[i].String() {
			t.Fatalf("sample %d was %s and is %s", i, before[i], p[1:])
		}
	}
}

func TestAnotherSeedGivesOtherSamples(t *testing.T) {
	a, b := draws(search(t, 20, 1)), draws(search(t, 20, 2))
	for i := range a {
		if a[i] == b[i] {
			t.Errorf("sample %d is %s with both seeds", i, a[i])
		}
	}
}

func TestSamplesLieWithinTheirBounds(t *testing.T) {
	for _, d := range []Dist{
		bounds(t, "a", "uniform", "-1", "1"), bounds(t, "a", "uniform", "-1.7e308", "1.7e308"), bounds(t, "a", "uniform", "0.1", "0.10000000000000002"),
		bounds(t, "a", "loguniform", "1e-300", "1e300"), bounds(t, "a", "loguniform", "0.001", "0.0010000000000000002"),
		bounds(t, "a", "int", "-3", "3"), bounds(t, "a", "int", "9007199254740993", "9007199254740995"), bounds(t, "a", "int", "-100000000000000000000", "100000000000000000000"),
	} {
		seen := map[Value]bool{}
		for _, p := range (&Random{N: 2000, Params: []Dist{d}}).samples() {
			v := p[0].Value.rat()
			if v.Cmp(d.Min.rat()) < 0 || v.Cmp(d.Max.rat()) > 0 {
				t.Fatalf("%s from %s to %s gives %s", d.Dist, d.Min, d.Max, p[0].Value)
			}
			seen[p[0].Value] = true
			if d.Dist == "int" && strings.ContainsAny(p[0].Value.Text(), ".e") {
				t.Fatalf("an int is %s", p[0].Value)
			}
		}
		if d.Dist == "int" && (len(seen) != 7 && len(seen) != 3 && len(seen) < 1000) {
			t.Errorf("ints from %s to %s: %d different ones", d.Min, d.Max, len(seen))
		}
	}
}
