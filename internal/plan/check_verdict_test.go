package plan

import "testing"

func TestThresholdsAreInOrderForTheDirection(t *testing.T) {
	criteria := func(direction string, k Criteria) func(*Experiment) {
		return func(e *Experiment) {
			looped(Loop{Candidates: []Candidate{{Ref: "x"}}})(e)
			e.Objective, e.Criteria = Objective{Metric: "score", Direction: direction}, &k
		}
	}
	p := func(f float64) *float64 { return &f }
	const more, less = " (for direction maximize: disappointing < solid <= exciting)", " (for direction minimize: exciting <= solid < disappointing)"
	findings{
		"maximize":       {criteria("maximize", Criteria{Disappointing: p(0.1), Solid: p(0.2), Exciting: p(0.2)}), nil},
		"minimize":       {criteria("minimize", Criteria{Disappointing: p(1), Solid: p(0), Exciting: p(0)}), nil},
		"one of them":    {criteria("minimize", Criteria{Solid: p(0)}), nil},
		"two, in order":  {criteria("maximize", Criteria{Disappointing: p(-1), Exciting: p(0)}), nil},
		"two, out of it": {criteria("maximize", Criteria{Disappointing: p(0), Exciting: p(0)}), []string{"experiments.lr.criteria.exciting: disappointing 0 does not lie below exciting 0, where more is better" + more}},
		"maximize, wrong": {
			criteria("maximize", Criteria{Disappointing: p(0.9), Solid: p(0.8), Exciting: p(0.75)}),
			[]string{
				"experiments.lr.criteria.solid: disappointing 0.9 does not lie below solid 0.8, where more is better" + more,
				"experiments.lr.criteria.exciting: solid 0.8 does not lie below exciting 0.75, where more is better" + more,
			},
		},
		"minimize, wrong": {
			criteria("minimize", Criteria{Disappointing: p(0.95), Solid: p(0.95), Exciting: p(0.98)}),
			[]string{
				"experiments.lr.criteria.solid: disappointing 0.95 does not lie above solid 0.95, where less is better" + less,
				"experiments.lr.criteria.exciting: solid 0.95 does not lie above exciting 0.98, where less is better" + less,
			},
		},
		"both effects": {
			criteria("minimize", Criteria{MinEffect: p(1), MinEffectPercent: p(2)}),
			[]string{"experiments.lr.criteria.min_effect_percent: min_effect and min_effect_percent are both set (keep one of them)"},
		},
	}.check(t)
}

func TestCriteriaThatNothingReadsAreNamed(t *testing.T) {
	const hint = " (add a claim, which compares one value with the others, or leave criteria out)"
	findings{
		"of a sweep":  {func(e *Experiment) { e.Criteria = &Criteria{} }, []string{"experiments.lr.criteria: nothing reads criteria: a sweep without a claim has no verdict" + hint}},
		"of a single": {func(e *Experiment) { e.Sweep, e.Command, e.Criteria = nil, []string{"p"}, &Criteria{} }, []string{"experiments.lr.criteria: nothing reads criteria: a single without a claim has no verdict" + hint}},
		"of a benchmark": {
			func(e *Experiment) {
				e.Sweep, e.Command, e.Criteria, e.Claim = nil, []string{"p"}, &Criteria{}, &Claim{Candidate: val("ours")}
			}, nil,
		},
		"of a baseline": {given(func(e *Experiment) { looped(Loop{})(e); e.Criteria = &Criteria{} }, "loop.iterations"), nil},
	}.check(t)
}

func TestAClaimIsOfValuesThatAreThere(t *testing.T) {
	claims := func(cl Claim, s *Sweep, seeds ...int64) func(*Experiment) {
		return func(e *Experiment) {
			e.Claim, e.Sweep, e.Command = &cl, s, []string{"p", "{params}", "{seed}"}
			e.Seeds, e.Set["seeds"] = append(Seeds{1, 2, 3}, seeds...), true
		}
	}
	opt := func() *Sweep { return &Sweep{Grid: Axes{list("opt", "adam", "sgd", "lion"), list("lr", 1, 2)}} }
	findings{
		"good":       {claims(Claim{Param: "opt", Candidate: val("lion"), Against: []Value{val("sgd")}}, opt()), nil},
		"of numbers": {claims(Claim{Param: "lr", Candidate: num(t, "2.0")}, opt()), nil},
		"another parameter": {
			claims(Claim{Param: "otp", Candidate: val("lion")}, opt()),
			[]string{`experiments.lr.claim.param: no parameter is called "otp" (did you mean "opt"?)`},
		},
		"a fixed one": {
			func(e *Experiment) {
				claims(Claim{Param: "x", Candidate: val(1)}, opt())(e)
				e.Params = map[string]Value{"x": val(1)}
			},
			[]string{"experiments.lr.claim.param: parameter x has one value: there is nothing to compare it with (make it an axis of the sweep)"},
		},
		"an axis of one value": {
			claims(Claim{Param: "opt", Candidate: val("a")}, &Sweep{Grid: Axes{list("opt", "a")}}),
			[]string{"experiments.lr.claim.param: parameter opt has one value: there is nothing to compare it with (add the values that it is compared with)"},
		},
		"no value of it": {
			claims(Claim{Param: "opt", Candidate: val("loin"), Against: []Value{val("sgd"), val("rmsprop")}}, opt()),
			[]string{
				"experiments.lr.claim.candidate: opt never is loin (did you mean lion?)",
				"experiments.lr.claim.against.1: opt never is rmsprop (values: adam, sgd, lion)",
			},
		},
		"another kind of value": {
			claims(Claim{Param: "lr", Candidate: val("2")}, opt()),
			[]string{`experiments.lr.claim.candidate: lr never is "2" (did you mean the number 2?)`},
		},
		"itself": {
			claims(Claim{Param: "opt", Candidate: val("lion"), Against: []Value{val("sgd"), val("lion")}}, opt()),
			[]string{"experiments.lr.claim.against.1: lion is the candidate: it is not compared with itself"},
		},
		"values from everywhere": {
			func(e *Experiment) {
				claims(Claim{Param: "a", Candidate: val(9), Against: []Value{num(t, "1.5"), val("c"), val("i"), val("f"), val("z")}}, &Sweep{
					Cases: []Axes{{steps(t, "a", "1", "2", "0.5")}, {list("a", 9, "c")}}, Include: []Params{params("a", "i")},
				})(e)
				e.Params = map[string]Value{"a": val("f")}
			},
			[]string{"experiments.lr.claim.against.4: a never is z (values: 1, 1.5, 2, 9, c, i, f)"},
		},
		"a choice": {
			claims(Claim{Param: "a", Candidate: val(3)}, &Sweep{Random: &Random{N: 9, Params: []Dist{{Name: "a", Dist: "choice", Values: []Value{val(1), val(2)}}}}}),
			[]string{"experiments.lr.claim.candidate: a never is 3 (values: 1, 2)"},
		},
		"values that cannot be listed": {
			claims(Claim{Param: "a", Candidate: val(3)}, &Sweep{Random: &Random{N: 9, Params: []Dist{{Name: "a", Dist: "uniform", Min: ptr(val(0)), Max: ptr(val(1))}}}}), nil,
		},
		"files":        {claims(Claim{Param: "a", Candidate: val(3)}, &Sweep{Grid: Axes{{Name: "a", Glob: &Glob{Glob: "/d/*", On: "local"}}}}), nil},
		"a wide range": {claims(Claim{Param: "a", Candidate: num(t, "0.5")}, &Sweep{Grid: Axes{points(t, "a", "0", "1", 5000, false)}, MaxTrials: 0}), []string{"experiments.lr.sweep: the sweep has 15000 trials, the limit is 10000 (the widest axes: a (5000); raise sweep.max_trials if they are meant)"}},
		"no sweep": {
			claims(Claim{Param: "opt", Candidate: val("lion")}, nil),
			[]string{"experiments.lr.claim.param: only a sweep has other values of a parameter to compare with (leave it out if the candidate is a method of FINAL_RESULTS)"},
		},
		"a method": {claims(Claim{Candidate: val("ours")}, opt()), nil},
		"a method that is a value": {
			claims(Claim{Candidate: val("lion")}, opt()),
			[]string{`experiments.lr.claim.candidate: without param, lion is a method of FINAL_RESULTS; the axis opt has this value too (add param: "opt" if that is meant)?`},
		},
		"too few seeds": {
			func(e *Experiment) {
				claims(Claim{Param: "lr", Candidate: val(1)}, &Sweep{Grid: Axes{list("lr", 1, 2)}})(e)
				e.Seeds = Seeds{1, 2}
			},
			[]string{"experiments.lr.claim: a verdict needs at least 3 seeds of each value, and the sweep has 2 (add seeds: 5)?"},
		},
		"a benchmark in a loop": {
			func(e *Experiment) {
				looped(Loop{Candidates: []Candidate{{Ref: "x"}}})(e)
				e.Claim = &Claim{Candidate: val("ours")}
			}, nil,
		},
	}.check(t)
}

func TestEarlyStopComparesWhatIsPrintedOnTheWay(t *testing.T) {
	early := func(step string) func(*Experiment) {
		return func(e *Experiment) { e.Sweep.EarlyStop = &EarlyStop{Step: step, MinStep: val(1)} }
	}
	findings{
		"good": {early("epoch"), nil},
		"with an evaluator": {
			func(e *Experiment) { early("epoch")(e); e.Evaluate = &Evaluate{Command: []string{"e"}} },
			[]string{"experiments.lr.sweep.early_stop: early_stop compares what trials print on the way, and this objective is measured by evaluate when they have ended (leave one of them out)"},
		},
		"by the objective": {
			early("loss"),
			[]string{`experiments.lr.sweep.early_stop.step: step is the objective itself (name the metric that counts progress, such as "epoch")`},
		},
	}.check(t)
}
