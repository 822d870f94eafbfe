package plan_test

import (
	"fmt"

	"github.com/xrun-dev/xrun/internal/plan"
)

// A spec says what is to be found out; the plan says which trials that takes, and why each is in it.
func ExampleBuild() {
	lr := plan.Axis{Name: "lr", Values: []plan.Value{plan.FloatValue(0.1), plan.FloatValue(1e-5)}}
	spec := &plan.Spec{
		Experiments: []plan.Experiment{{
			Name: "lr-sweep", Command: []string{"python", "train.py", "--lr={lr}", "--seed={seed}", "--out={xrun.out}"},
			Objective: plan.Objective{Metric: "val_loss", Direction: "minimize"},
			Seeds:     plan.Seeds{0, 1}, Sweep: &plan.Sweep{Grid: plan.Axes{lr}},
			Set: map[string]bool{"seeds": true},
		}},
		Hosts: []plan.Host{{Name: "local", Kind: "local"}},
	}
	spec.Fill()
	p, err := plan.Build(plan.Basis{Spec: spec})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range p.Experiments[0].Trials {
		fmt.Println(t.ID, t.Why, t.Params, t.Command())
	}
	// Output:
	// 3wojkoyu4elv new lr=0.1 [python train.py --lr=0.1 --seed=0 --out={xrun.out}]
	// ov43unvygzqv new lr=0.1 [python train.py --lr=0.1 --seed=1 --out={xrun.out}]
	// 3yhnsvvh7itv new lr=1e-05 [python train.py --lr=1e-05 --seed=0 --out={xrun.out}]
	// 7wjedy6bbivm new lr=1e-05 [python train.py --lr=1e-05 --seed=1 --out={xrun.out}]
}

// Check finds what only shows by looking across fields.
func ExampleCheck() {
	spec := &plan.Spec{Experiments: []plan.Experiment{{
		Name: "train", Command: []string{"train", "--lr={lrate}"}, Params: map[string]plan.Value{"lr_rate": plan.FloatValue(0.1)},
	}}}
	for _, f := range plan.Check(spec) {
		fmt.Println(f.Path, f.Message)
		fmt.Println(f.Suggestion)
	}
	// Output:
	// [experiments train command 1] unknown placeholder {lrate}
	// did you mean {lr_rate}? A brace that is meant as one is written {{
}
