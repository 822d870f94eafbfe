package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// What is compared runs on one GPU model, as needs.match_hardware asks: all trials of an experiment, or the seeds of each
// point.
const (
	matchExperiment = "experiment"
	matchPoint      = "point"
)

// classOf is the model that a trial is bound to; "" if it is to none, or none was chosen yet.
func (e *experimentState) classOf(t *task) string {
	return e.classes[e.classKey(t.trial.Params.String())]
}

// classKey names those trials that run on one model.
func (e *experimentState) classKey(point string) string {
	switch {
	case e.spec.Needs.MatchHardware == matchExperiment:
		return "*"
	case e.spec.Needs.MatchHardware == matchPoint && len(e.spec.Seeds) > 1:
		return point
	}
	return ""
}

// bind notes on which model a trial runs, for those that are compared with it.
func (e *experimentState) bind(point, model string) {
	key := e.classKey(point)
	if key == "" || model == "" || e.classes[key] != "" {
		return
	}
	if e.classes == nil {
		e.classes = map[string]string{}
	}
	e.classes[key] = model
}

// classify chooses the model of each experiment whose trials are all compared: the one on which most of them fit, or the
// one on which earlier ones of a resumed run were.
func (r *run) classify(e *experimentState) error {
	need := gpuNeed(e.spec.Needs)
	if need == nil {
		return nil
	}
	if r.Seen != nil {
		for i := range e.planned.Trials {
			t := &e.planned.Trials[i]
			e.bind(t.Params.String(), r.Seen.Models[ledger.Key{Experiment: e.spec.Name, Trial: t.ID}])
		}
	}
	if e.spec.Needs.MatchHardware != matchExperiment || e.classes["*"] != "" {
		return nil
	}
	count := map[string]int{}
	for _, h := range r.hosts {
		if !e.takes(h.name) {
			continue
		}
		here := map[string]int{}
		for _, g := range h.gpus.gpus {
			if need.Meets(g) {
				here[g.Model]++
			}
		}
		for model, n := range here { // trials at once, so that two hosts with half of what one needs are none
			count[model] += n / need.Count
		}
	}
	models := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(models) == 0 {
		return nil
	}
	e.bind("", models[0])
	if len(models) == 1 {
		return nil
	}
	return r.append(ledger.Warning{Message: fmt.Sprintf(
		"experiment %s runs on %s only (%d trials at once), not on %s: its trials are compared (needs.match_hardware: \"none\" uses all)",
		e.spec.Name, models[0], count[models[0]], strings.Join(models[1:], ", "))})
}

// chooseClass binds the point of a trial that is handed to h to a model.
func (h *hostState) chooseClass(t *task) {
	if t.need == nil || t.need.Only != "" || t.exp.classKey(t.trial.Params.String()) == "" {
		return
	}
	picked := h.gpus.free(t.need)
	for i, g := range h.gpus.gpus { // it waits: for what it could have
		if picked == nil && t.need.Meets(g) && h.enough(t.need, g.Model) {
			picked = []int{i}
		}
	}
	if picked == nil {
		return
	}
	if model := h.gpus.gpus[picked[0]].Model; h.enough(t.need, model) {
		t.exp.bind(t.trial.Params.String(), model)
		t.need.Only = model
	}
}

// enough: a trial finds as many GPUs of the model as it needs.
func (h *hostState) enough(n *hosts.GPUNeed, model string) bool {
	only := *n
	only.Only = model
	return h.gpus.fit(&only)
}
