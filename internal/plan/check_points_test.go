package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPointsThatStandThereTwiceAreNamed(t *testing.T) {
	findings{
		"a number in another spelling": {
			grid(list("lr", 0.1, 1), list("b", num(t, "1e-1"), num(t, "0.10"))),
			[]string{"experiments.lr.sweep.grid.b.1: 0.1 stands there twice (it is run once)?"},
		},
		"a string is not the number": {grid(list("lr", 1, "x", "y", true, "true")), nil},
		"many of one axis": {
			grid(list("lr", 1, 1, 1, 1, 1, 1)),
			[]string{
				"experiments.lr.sweep.grid.lr.1: 1 stands there twice (it is run once)?",
				"experiments.lr.sweep.grid.lr.2: 1 stands there twice (it is run once)?",
				"experiments.lr.sweep.grid.lr.3: 1 stands there twice (it is run once), and 2 more like it?",
			},
		},
		"a range of one value": {grid(points(t, "lr", "2", "2", 3, false)), []string{"experiments.lr.sweep.grid.lr: all 3 points of the range are 2?"}},
		"axes that move together": {
			sweep(Sweep{Zip: Axes{list("a", 1, 1, 2, 1), list("b", 1, 2, 1, 1)}}),
			[]string{"experiments.lr.sweep.zip.a.3: a=1 b=1 stands there twice (it is run once)?"},
		},
		"axes of which one never repeats": {sweep(Sweep{Zip: Axes{list("a", 1, 1, 1), steps(t, "b", "1", "3", "1")}}), nil},
		"within a case": {
			sweep(Sweep{Cases: []Axes{{list("a", 1, 1)}, {list("b", 1)}}}),
			[]string{"experiments.lr.sweep.cases.0.a.1: 1 stands there twice (it is run once)?"},
		},
		"a case of an earlier one": {
			sweep(Sweep{Cases: []Axes{{list("a", 1, 2), list("b", 1, 2)}, {list("a", 1)}, {list("b", 2), list("a", 3, 2)}}, Grid: Axes{list("x", 1, 2)}}),
			[]string{"experiments.lr.sweep.cases.2: cases[0] has b=2 a=2 too (it is run once)?"},
		},
		"a case that a fixed parameter completes": {
			func(e *Experiment) {
				sweep(Sweep{Cases: []Axes{{list("a", 1), list("b", 2)}, {list("a", 1)}}})(e)
				e.Params = map[string]Value{"b": val(2)}
			},
			[]string{"experiments.lr.sweep.cases.1: cases[0] has a=1 b=2 too (it is run once)?"},
		},
		"an included point twice": {
			sweep(Sweep{Include: []Params{params("a", 1, "b", 2), params("a", 1), params("b", 2, "a", 1)}}),
			[]string{"experiments.lr.sweep.include.2: include[0] is b=2 a=1 too (it is run once) (leave it out)?"},
		},
		"an included point that is made anyway": {
			sweep(Sweep{
				Grid: Axes{list("a", 1, 2), points(t, "r", "0", "1", 3, false)}, Zip: Axes{list("y", 1, 2), list("z", 3, 4)}, Cases: []Axes{{list("c", 1)}, {list("c", 2), list("d", 1)}},
				Include: []Params{
					params("a", 1, "r", 0.5, "y", 2, "z", 4, "c", 1),
					params("a", 1, "r", 0.5, "y", 2, "z", 3, "c", 1),
					params("a", 1, "r", 0.5, "y", 2, "z", 4, "c", 2),
					params("a", 1, "r", 0.5, "y", 2, "z", 4, "c", 2, "d", 1),
					params("a", 1, "r", 0.5, "y", 2, "z", 4, "c", 1, "n", 1),
					params("a", 1, "r", 0.5, "y", 2, "z", 4),
					params("a", 1, "r", 0.6, "y", 2, "z", 4, "c", 1),
				},
			}),
			[]string{
				"experiments.lr.sweep.include.0: the sweep has a=1 r=0.5 y=2 z=4 c=1 without it (it is run once) (leave it out)?",
				"experiments.lr.sweep.include.3: the sweep has a=1 r=0.5 y=2 z=4 c=2 d=1 without it (it is run once) (leave it out)?",
			},
		},
		"an included point that was excluded": {
			sweep(Sweep{Grid: Axes{list("a", 1, 2)}, Exclude: []Match{{list("a", 1)}}, Include: []Params{params("a", 1)}}), nil,
		},
		"an included point that a fixed parameter completes": {
			func(e *Experiment) {
				sweep(Sweep{Grid: Axes{list("a", 1, 2), list("f", 3, 4)}, Include: []Params{params("a", 1), params("a", 2, "f", 4), params("a", 1, "f", 5)}})(e)
				e.Params = map[string]Value{"f": val(3), "g": val(0)}
			},
			[]string{
				"experiments.lr.sweep.include.0: the sweep has a=1 without it (it is run once) (leave it out)?",
				"experiments.lr.sweep.include.1: the sweep has a=2 f=4 without it (it is run once) (leave it out)?",
			},
		},
		"an included sample": {
			sweep(Sweep{Random: &Random{N: 50, Params: []Dist{{Name: "a", Dist: "choice", Values: []Value{val(1), val(2)}}}}, Include: []Params{params("a", 2), params("a", 3)}}),
			[]string{"experiments.lr.sweep.include.0: the sweep has a=2 without it (it is run once) (leave it out)?"},
		},
	}.check(t)
}

// What is said of a point agrees with the points themselves.
func TestAnIncludedPointIsFoundIfAndOnlyIfItIsMade(t *testing.T) {
	for _, fixed := range []map[string]Value{nil, {"a": val(1)}, {"d": val(1), "z": val(9)}, {"c": val(2), "d": val(2)}} {
		e := experiment(sweep(Sweep{
			Grid: Axes{list("a", 1, 2)}, Zip: Axes{list("x", 1, 2), list("y", 1, 2)}, Cases: []Axes{{list("c", 1, 2)}, {list("c", 1), list("d", 1)}, {list("d", 2)}}, MaxTrials: 1000,
		}))
		e.Params = fixed
		made := map[string]bool{}
		all, err := e.points()
		if err != nil {
			t.Fatal(err)
		}
		for p := range all {
			made[pointText(p)] = true
		}
		factors, err := e.Sweep.blocks()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for n := range 3 * 3 * 3 * 4 * 4 { // every point of these parameters, 0 being absent
			var p Params
			for i, name := range []string{"a", "x", "y", "c", "d"} {
				size := []int{3, 3, 3, 4, 4}[i]
				if v := n % size; v > 0 {
					p = append(p, Param{name, val(v)})
				}
				n /= size
			}
			whole := e.withFixed(p)
			if got, want := e.made(factors, whole), made[pointText(whole)]; got != want {
				t.Errorf("fixed %v: %s is made: %v, found: %v", fixed, whole, want, got)
			} else if got {
				found++
			}
		}
		if found == 0 {
			t.Errorf("fixed %v: no point was found", fixed)
		}
	}
}

func TestLookingForRepetitionsMakesNoProduct(t *testing.T) {
	var axes Axes
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		axes = append(axes, eight(n))
	}
	s := specOf(experiment(sweep(Sweep{Grid: axes, MaxTrials: 1 << 30, Include: []Params{params("a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6)}}), func(e *Experiment) { e.Set["sweep.max_trials"] = true }))
	start := time.Now()
	found := lines(Check(s))
	if took := time.Since(start); took > 10*time.Second { // to make it takes minutes
		t.Errorf("it took %s", took)
	}
	if diff := cmp.Diff([]string{"experiments.lr.sweep.include.0: the sweep has a=1 b=2 c=3 d=4 e=5 f=6 without it (it is run once) (leave it out)?"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestThousandsOfListedPointsAreCheckedAtOnce(t *testing.T) {
	const n = 20_000
	sw := Sweep{MaxTrials: n}
	for i := range n {
		sw.Include = append(sw.Include, params("lr", i, "a", 1, "b", 2))
	}
	s := specOf(experiment(sweep(sw), func(e *Experiment) {
		e.Command, e.Set["sweep.max_trials"] = []string{"p", "{params}"}, true
		e.Claim = &Claim{Param: "lr", Candidate: val(1)}
	}))
	start := time.Now()
	if found := lines(Check(s)); len(found) > 0 {
		t.Error(found)
	}
	if took := time.Since(start); took > 5*time.Second { // each with each takes half a minute
		t.Errorf("it took %s", took)
	}
}
