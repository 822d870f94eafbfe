package plan

import "testing"

func TestLimitsOnMetricsThatGuardNothingAreNamed(t *testing.T) {
	limited := func(e *Experiment) {
		e.Metrics = map[string]Metric{"acc": {AtLeast: ptr(val(1))}, "mem": {AtMost: ptr(val(1)), AtLeast: ptr(val(0))}, "x": {}}
	}
	findings{
		"in a sweep": {
			limited,
			[]string{
				"experiments.lr.metrics.acc.at_least: limits on metrics guard the candidates of a loop; here the metric is only recorded?",
				"experiments.lr.metrics.mem.at_most: limits on metrics guard the candidates of a loop; here the metric is only recorded?",
			},
		},
		"in a loop": {func(e *Experiment) {
			limited(e)
			e.Sweep, e.Loop, e.Command = nil, &Loop{Candidates: []Candidate{{Ref: "x"}}}, []string{"p"}
		}, nil},
		"in a claim": {func(e *Experiment) { limited(e); e.Claim = &Claim{} }, nil},
	}.check(t)
}

func TestWhatIsNearlyAPlaceholderIsNamed(t *testing.T) {
	command := func(args ...string) func(*Experiment) {
		return func(e *Experiment) { e.Command = append([]string{"p", "{lr}"}, args...) }
	}
	findings{
		"blanks": {
			command("{ lr }", "--s={seed }", "x { params } y"),
			[]string{
				"experiments.lr.command.2: { lr } is not a placeholder and is passed as it is (write {lr})?",
				"experiments.lr.command.3: {seed } is not a placeholder and is passed as it is (write {seed})?",
				"experiments.lr.command.4: { params } is not a placeholder and is passed as it is (write {params})?",
			},
		},
		"slips in {params:--}": {
			command("{param:--}", "{params:-}", "{params:}", "{--params}", "{Params:--}", "{params=--}"),
			[]string{
				"experiments.lr.command.2: {param:--} is not a placeholder and is passed as it is (write {params:--})?",
				"experiments.lr.command.3: {params:-} is not a placeholder and is passed as it is (write {params:--})?",
				"experiments.lr.command.4: {params:} is not a placeholder and is passed as it is (write {params:--})?",
				"experiments.lr.command.5: {--params} is not a placeholder and is passed as it is (write {params:--})?",
				"experiments.lr.command.6: {Params:--} is not a placeholder and is passed as it is (write {params:--})?",
				"experiments.lr.command.7: {params=--} is not a placeholder and is passed as it is (write {params:--})?",
			},
		},
		"one that could be a name is a problem as it was": {
			command("{Params}"),
			[]string{"experiments.lr.command.2: unknown placeholder {Params} (did you mean {params}? A brace that is meant as one is written {{)"},
		},
		"the environment": {
			func(e *Experiment) { e.Env = map[string]string{"A": "{ lr}"} },
			[]string{"experiments.lr.env.A: { lr} is not a placeholder and is passed as it is (write {lr})?"},
		},
		"what is not one": {
			command(`{"a": 1}`, `{"params": 2}`, `{"lr"}`, "{print $1}", "{ print }", "{{ lr }}", "{epoch:03d}", "{1..9}", "{a,b}", "{", "}", "{}",
				"f() {\n lr\n}", "{params: 1}", "${{lr}}", "{ p; }"),
			nil,
		},
		"setup has no parameters": {
			func(e *Experiment) {
				e.Setup = &Setup{Command: []string{"s", "{ lr }", "{ params }", "{ xrun.setup }"}}
			},
			[]string{"experiments.lr.setup.command.3: { xrun.setup } is not a placeholder and is passed as it is (write {xrun.setup})?"},
		},
	}.check(t)
}

func TestRangesThatMissTheirEndAreNamed(t *testing.T) {
	findings{
		"steps": {
			func(e *Experiment) {
				e.Command = []string{"p", "{params}"}
				e.Sweep = &Sweep{
					Grid:  Axes{steps(t, "a", "1", "10", "4"), steps(t, "b", "0", "0.3", "0.1"), points(t, "c", "1", "10", 4, false)},
					Cases: []Axes{{steps(t, "d", "0", "1", "0.3")}, {list("d", 1)}},
				}
			},
			[]string{
				"experiments.lr.sweep.grid.a.to: to 10 is not reached: the last value is 9?",
				"experiments.lr.sweep.cases.0.d.to: to 1 is not reached: the last value is 0.9?",
			},
		},
	}.check(t)
}

// C49
func TestANumberInQuotesAmongNumbersIsNamed(t *testing.T) {
	findings{
		"in an axis": {
			grid(list("lr", 1, "2", "3")),
			[]string{`experiments.lr.sweep.grid.lr.1: "2" is a string among numbers (write 2, or put all of them in quotes)?`},
		},
		"in a choice": {
			sweep(Sweep{Random: &Random{N: 1, Params: []Dist{{Name: "lr", Dist: "choice", Values: []Value{val("1e-3"), val(0.1)}}}}}),
			[]string{`experiments.lr.sweep.random.params.lr.values.0: "1e-3" is a string among numbers (write 1e-3, or put all of them in quotes)?`},
		},
		"words among numbers":   {grid(list("lr", 1, "auto", "2x", "")), nil},
		"all of them in quotes": {grid(list("lr", "1", "2")), nil},
	}.check(t)
}
