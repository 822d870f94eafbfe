package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func texts(t *testing.T, a Axis) string {
	t.Helper()
	vs, err := a.values()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.count(); err != nil || n != len(vs) {
		t.Errorf("%v are %d values, counted as %d, %v", vs, len(vs), n, err)
	}
	var out []string
	for _, v := range vs {
		out = append(out, v.Text())
	}
	return strings.Join(out, " ")
}

func TestRangesAreDecimal(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		want string
	}{
		{steps(t, "a", "0", "0.3", "0.1"), "0 0.1 0.2 0.3"},
		{steps(t, "a", "0.1", "0.3", "0.05"), "0.1 0.15 0.2 0.25 0.3"},
		{steps(t, "a", "0", "1", "0.3"), "0 0.3 0.6 0.9"},
		{steps(t, "a", "-1", "1", "1"), "-1 0 1"},
		{steps(t, "a", "5", "5", "1"), "5"},
		{steps(t, "a", "9007199254740993", "9007199254740995", "1"), "9007199254740993 9007199254740994 9007199254740995"},
		{points(t, "a", "0", "1", 5, false), "0 0.25 0.5 0.75 1"},
		{points(t, "a", "0", "1", 4, false), "0 0.3333333333333333 0.6666666666666666 1"},
		{points(t, "a", "1", "0", 3, false), "1 0.5 0"},
		{points(t, "a", "1e-5", "1e-1", 5, true), "1e-05 0.0001 0.001 0.01 0.1"},
		{points(t, "a", "1e20", "1e24", 5, true), "1" + strings.Repeat("0", 20) + " 1" + strings.Repeat("0", 21) + " 1" + strings.Repeat("0", 22) + " 1" + strings.Repeat("0", 23) + " 1" + strings.Repeat("0", 24)},
		{points(t, "a", "1", "1000", 4, true), "1 10 100 1000"},
		{points(t, "a", "100", "1", 3, true), "100 10 1"},
		{points(t, "a", "1", "2", 3, true), "1 1.41421356237 2"},
		{points(t, "a", "1e-300", "1e300", 3, true), "1e-300 1 1" + strings.Repeat("0", 300)},
	} {
		if got := texts(t, c.axis); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestEveryDecadeOfALogRangeIsExact(t *testing.T) {
	for lo := -30; lo < 20; lo++ {
		for n := 1; n <= 10; n++ {
			a := points(t, "a", fmt.Sprintf("1e%d", lo), fmt.Sprintf("1e%d", lo+n), n+1, true)
			for i, v := range strings.Fields(texts(t, a)) {
				if want := num(t, fmt.Sprintf("1e%d", lo+i)).Text(); v != want {
					t.Fatalf("from 1e%d to 1e%d: %s, want %s", lo, lo+n, v, want)
				}
			}
		}
	}
}

func TestRangesThatMakeNoSenseAreRefused(t *testing.T) {
	one := val(1)
	two := 2
	for want, a := range map[string]Axis{
		"above to":           steps(t, "a", "1", "0", "0.1"),
		"more than 1000000":  steps(t, "a", "0", "1", "1e-6"),
		"more than 1000000 ": steps(t, "a", "0", "1e300", "1e-300"),
		"step 0 is not":      steps(t, "a", "0", "1", "0"),
		"step -1 is not":     steps(t, "a", "1", "0", "-1"),
		"either step or":     {Name: "a", Range: &Range{From: one, To: one}},
		"either step or ":    {Name: "a", Range: &Range{From: one, To: one, Step: &one, Points: &two}},
		"log goes with":      {Name: "a", Range: &Range{From: one, To: one, Step: &one, Log: true}},
		"above 0":            points(t, "a", "0", "1", 3, true),
		"above 0 ":           points(t, "a", "1", "-1", 3, true),
		"at least 2":         points(t, "a", "0", "1", 1, false),
	} {
		if vs, err := a.values(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%d values, %v; want an error with %q", len(vs), err, want)
		}
	}
	if n, err := (Axis{Name: "a"}).count(); err == nil {
		t.Errorf("an axis without values has %d", n)
	}
}

func TestPointsAreNestedInTheOrderOfTheSource(t *testing.T) {
	got := expand(t, Sweep{
		Grid:   Axes{list("b", 1, 2), list("a", "x", "y")},
		Zip:    Axes{list("z1", 10, 20), list("z2", 100, 200)},
		Cases:  []Axes{{list("opt", "sgd"), list("momentum", 0, 0.9)}, {list("opt", "adam")}},
		Random: &Random{N: 2, Params: []Dist{{Name: "r", Dist: "choice", Values: []Value{val("q")}}}},
	}) // both samples are q
	if len(got) != 2*2*2*3*2 {
		t.Fatalf("%d points", len(got))
	}
	want := []string{
		"b=1 a=x z1=10 z2=100 opt=sgd momentum=0 r=q", "b=1 a=x z1=10 z2=100 opt=sgd momentum=0 r=q",
		"b=1 a=x z1=10 z2=100 opt=sgd momentum=0.9 r=q", "b=1 a=x z1=10 z2=100 opt=sgd momentum=0.9 r=q",
		"b=1 a=x z1=10 z2=100 opt=adam r=q", "b=1 a=x z1=10 z2=100 opt=adam r=q",
		"b=1 a=x z1=20 z2=200 opt=sgd momentum=0 r=q",
	}
	if diff := cmp.Diff(want[:1], got[:1]); diff != "" {
		t.Error(diff)
	}
	if i := slices.Index(got, "b=1 a=y z1=10 z2=100 opt=sgd momentum=0 r=q"); i != 12 {
		t.Errorf("the second axis moves after %d points, want 12", i)
	}
	if i := slices.Index(got, want[6]); i != 6 {
		t.Errorf("the zip moves after %d points, want 6", i)
	}
	if i := slices.Index(got, "b=2 a=x z1=10 z2=100 opt=sgd momentum=0 r=q"); i != 24 {
		t.Errorf("the first axis moves after %d points, want 24", i)
	}
}

func TestASweepIsTheProductLessExcludeThenInclude(t *testing.T) {
	for name, c := range map[string]struct {
		sweep Sweep
		fixed map[string]Value
		want  []string
	}{
		"exclude names a combination": {
			Sweep{Grid: Axes{list("a", 1, 2), list("b", 1, 2)}, Exclude: []Match{{list("a", 1), list("b", 2)}}},
			nil,
			[]string{"a=1 b=1", "a=2 b=1", "a=2 b=2"},
		},
		"a list in exclude means any of": {
			Sweep{Grid: Axes{list("a", 1, 2, 3), list("b", 1, 2)}, Exclude: []Match{{list("a", 1, 3), list("b", 2)}}},
			nil,
			[]string{"a=1 b=1", "a=2 b=1", "a=2 b=2", "a=3 b=1"},
		},
		"exclude knows numbers by value and texts by text": {
			Sweep{Grid: Axes{list("a", 1.0, "1")}, Exclude: []Match{{list("a", num(t, "1.0"))}}},
			nil,
			[]string{`a="1"`},
		},
		"exclude does not match a parameter that a point lacks": {
			Sweep{Cases: []Axes{{list("a", 1)}, {list("b", 1)}}, Exclude: []Match{{list("a", 1), list("b", 1)}}},
			nil,
			[]string{"a=1", "b=1"},
		},
		"include is not excluded and may lack parameters": {
			Sweep{Grid: Axes{list("a", 1, 2)}, Exclude: []Match{{list("a", 2)}}, Include: []Params{params("a", 2), params("c", "x")}},
			nil,
			[]string{"a=1", "a=2", "c=x"},
		},
		"only includes have no product": {
			Sweep{Include: []Params{params("a", 1), params("a", 2)}},
			nil,
			[]string{"a=1", "a=2"},
		},
		"fixed parameters follow, and an axis goes before them": {
			Sweep{Grid: Axes{list("z", 1), list("a", 2)}, Include: []Params{params("m", 9)}},
			map[string]Value{"m": val(0), "b": val("x"), "a": val(7)},
			[]string{"z=1 a=2 b=x m=0", "m=9 a=7 b=x"},
		},
		"fixed parameters can be excluded": {
			Sweep{Grid: Axes{list("a", 1, 2)}, Exclude: []Match{{list("a", 1), list("m", 0)}}},
			map[string]Value{"m": val(0)},
			[]string{"a=2 m=0"},
		},
		"a case without axes is one point": {
			Sweep{Grid: Axes{list("a", 1)}, Cases: []Axes{{}, {list("b", 1, 2)}}},
			nil,
			[]string{"a=1", "a=1 b=1", "a=1 b=2"},
		},
	} {
		got := expand(t, c.sweep, func(e *Experiment) { e.Params = c.fixed })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if n, err := c.sweep.count(); err != nil || n < int64(len(got)) {
			t.Errorf("%s: counted as %d points, has %d: %v", name, n, len(got), err)
		}
	}
}

func TestAPointThatStandsTwiceIsOneTrial(t *testing.T) {
	e := experiment(sweep(Sweep{Grid: Axes{list("lr", 0.1, num(t, "1e-1"), 1, num(t, "1.0"))}, Include: []Params{params("lr", 1)}}))
	p := build(t, Basis{Spec: specOf(e)})
	if n := len(p.Experiments[0].Trials); n != 2 {
		t.Errorf("%d trials, want 2", n)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "experiment lr: 3 of its trials stand there twice") {
		t.Errorf("warnings: %q", p.Warnings)
	}
}

func TestSeedsAreTheInnermostAxis(t *testing.T) {
	ts := trials(t, sweep(Sweep{Grid: Axes{list("lr", 1, 2)}}), func(e *Experiment) { e.Seeds, e.Set["seeds"] = Seeds{5, 3}, true })
	var got []string
	for _, tr := range ts {
		got = append(got, fmt.Sprintf("%s/%d", tr.Params, tr.Seed))
	}
	if diff := cmp.Diff([]string{"lr=1/5", "lr=1/3", "lr=2/5", "lr=2/3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVaryingListsTheAxesInTheOrderOfTheSource(t *testing.T) {
	e := experiment(sweep(Sweep{
		Grid: Axes{list("b", 1), list("a", 1)}, Zip: Axes{list("z", 1)}, Cases: []Axes{{list("c", 1)}, {list("d", 1), list("c", 2)}},
		Random: &Random{N: 1, Params: []Dist{{Name: "r"}}}, Include: []Params{params("a", 1, "i", 1)},
	}))
	if diff := cmp.Diff([]string{"b", "a", "z", "c", "d", "r", "i"}, e.Varying()); diff != "" {
		t.Error(diff)
	}
	if e.Sweep = nil; e.Varying() != nil {
		t.Error("an experiment without a sweep varies")
	}
}

// Steps are made in two ways, one of them fast. Both must give the same values.
func TestStepsAreTheSameWithAndWithoutRationals(t *testing.T) {
	fast := 0
	for _, from := range []string{"0", "1", "-3", "0.1", "1e-05", "-0.00001", "123456789", "0.000000001", "1e-300", "9007199254740992", "99999999.5"} {
		for _, step := range []string{"1", "7", "0.1", "0.3", "1e-05", "0.000000003", "2.5", "1000000", "123456789", "1e-200"} {
			for _, n := range []int64{1, 2, 11, 1000} {
				r := Range{From: num(t, from), Step: ptr(num(t, step))}
				got := r.steps(int(n))
				if got == nil {
					continue
				}
				fast++
				for i, v := range got {
					x := new(big.Rat).Mul(r.Step.rat(), big.NewRat(int64(i), 1))
					if want := ratValue(x.Add(x, r.From.rat())); v != want {
						t.Fatalf("from %s in steps of %s: value %d is %s, want %s", from, step, i, v, want)
					}
				}
			}
		}
	}
	if fast < 100 {
		t.Errorf("only %d ranges go the fast way", fast)
	}
}
