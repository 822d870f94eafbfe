package plan

import "testing"

// unusedLine is the warning for a parameter of a sweep.
func unusedLine(path, name, variable string) string {
	return "experiments.lr." + path + ": no placeholder uses " + name + ": the program sees it only as " + variable +
		" and in XRUN_PARAMS_FILE; otherwise the trials do the same for each of its values (put {" + name + "} or {params} into the command)?"
}

func TestAParameterThatWasForgottenInTheCommandIsNamed(t *testing.T) {
	two := func(command ...string) func(*Experiment) {
		return func(e *Experiment) {
			e.Sweep, e.Command = &Sweep{Grid: Axes{list("lr", 1), list("hidden", 1, 2)}}, command
		}
	}
	hidden, lr := unusedLine("sweep.grid.hidden", "hidden", "XRUN_PARAM_HIDDEN"), unusedLine("sweep.grid.lr", "lr", "XRUN_PARAM_LR")
	findings{
		"one of two":              {two("p", "{lr}"), []string{hidden}},
		"both":                    {two("p", "{seed}"), []string{lr, hidden}},
		"used in an argument":     {two("p", "{lr}", "--h={hidden}"), nil},
		"all of them":             {two("p", "{lr}", "{params:--}"), nil},
		"read as a variable":      {two("sh", "-c", "p {lr} $XRUN_PARAM_HIDDEN"), nil},
		"another variable":        {two("sh", "-c", "p {lr} $XRUN_PARAM_HIDDEN_SIZE"), []string{hidden}},
		"read from the file":      {two("sh", "-c", "p <$XRUN_PARAMS_FILE"), nil},
		"whatever variable":       {two("sh", "-c", "env | grep ^XRUN_PARAM_ | p"), []string{"experiments.lr.command.2: a pipe has the exit code of its last command: if grep fails, p hides it (use [\"bash\", \"-o\", \"pipefail\", \"-c\", …])?"}},
		"used in the environment": {func(e *Experiment) { two("p", "{lr}")(e); e.Env = map[string]string{"H": "{hidden}"} }, nil},
		"used by the evaluator":   {func(e *Experiment) { two("p", "{lr}")(e); e.Evaluate = &Evaluate{Command: []string{"{hidden}"}} }, nil},
		"used by the tests": {
			func(e *Experiment) {
				two("p", "{lr}")(e)
				e.Loop = &Loop{Candidates: []Candidate{{Ref: "x"}}, Tests: &Tests{Command: []string{"t", "{hidden}"}}}
			}, nil,
		},
		"meant by a placeholder that is wrong": {
			two("p", "{lr}", "{hiden}"),
			[]string{"experiments.lr.command.2: unknown placeholder {hiden} (did you mean {hidden}? A brace that is meant as one is written {{)"},
		},
		"a fixed one": {
			func(e *Experiment) { e.Params, e.Command = map[string]Value{"x": val(1)}, []string{"p", "{lr}"} },
			[]string{"experiments.lr.params.x: no placeholder uses x: the program sees it only as XRUN_PARAM_X and in XRUN_PARAMS_FILE (put {x} or {params} into the command)?"},
		},
		"a candidate's": {
			func(e *Experiment) {
				e.Sweep, e.Command = nil, []string{"p"}
				e.Loop = &Loop{Candidates: []Candidate{{Name: "c", Params: map[string]Value{"x": val(1)}}}}
			},
			[]string{"experiments.lr.loop.candidates.0.params.x: no placeholder uses x: the program sees it only as XRUN_PARAM_X and in XRUN_PARAMS_FILE; otherwise the candidate changes nothing (put {x} or {params} into the command)?"},
		},
		"that of a claim": {
			func(e *Experiment) {
				two("p", "{lr}", "{seed}")(e)
				e.Seeds, e.Claim = Seeds{1, 2, 3}, &Claim{Param: "hidden", Candidate: val(1)}
			},
			[]string{hidden},
		},
		"each other kind": {
			func(e *Experiment) {
				e.Sweep = &Sweep{
					Zip: Axes{list("z", 1)}, Cases: []Axes{{list("c", 1), list("lr", 1)}, {list("c", 2)}},
					Random: &Random{N: 1, Params: []Dist{{Name: "r", Dist: "choice", Values: []Value{val(1)}}}},
				}
				e.Command = []string{"p", "{c}"}
			},
			[]string{
				unusedLine("sweep.zip.z", "z", "XRUN_PARAM_Z"),
				"experiments.lr.sweep.cases.0.lr: no placeholder uses lr: the program sees it only as XRUN_PARAM_LR and in XRUN_PARAMS_FILE; otherwise the trials do the same for each of its values (put {params} into the command: it leaves out what a point does not have)?",
				unusedLine("sweep.random.params.r", "r", "XRUN_PARAM_R"),
			},
		},
	}.check(t)
}

func TestSeedsThatNothingUsesAreNamed(t *testing.T) {
	seeds := func(command ...string) func(*Experiment) {
		return func(e *Experiment) {
			e.Seeds, e.Set["seeds"], e.Command = Seeds{0, 1, 2}, true, append(command, "{params}")
		}
	}
	findings{
		"nothing": {
			seeds("p"),
			[]string{"experiments.lr.seeds: no placeholder uses the seed: the program sees it only as XRUN_SEED; otherwise the 3 trials of a point do the same (put {seed} into the command)?"},
		},
		"a placeholder": {seeds("p", "--seed={seed}"), nil},
		"a variable":    {seeds("sh", "-c", "p --seed=$XRUN_SEED"), nil},
		"the environment": {
			func(e *Experiment) { seeds("p")(e); e.Env = map[string]string{"PYTHONHASHSEED": "{seed}"} }, nil,
		},
		"one seed": {func(e *Experiment) { seeds("p")(e); e.Seeds = Seeds{7} }, nil},
	}.check(t)
}

func TestWhatTheProgramItselfMayUseIsMarked(t *testing.T) {
	kinds := map[string]int{}
	for _, f := range Check(specOf(experiment(func(e *Experiment) { e.Command, e.Seeds, e.Set["seeds"] = []string{"p", "{ lr }"}, Seeds{1, 2}, true }))) {
		kinds[f.Kind]++
	}
	if kinds[UnusedParams] != 1 || kinds[UnusedSeed] != 1 || kinds[""] != 1 {
		t.Errorf("kinds of findings: %v", kinds)
	}
}
