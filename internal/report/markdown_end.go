package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// random reports whether the points are samples of distributions.
func (x *Experiment) random() bool {
	var spec struct {
		Sweep struct {
			Random json.RawMessage `json:"random"`
		} `json:"sweep"`
	}
	// A spec that cannot be read is treated as any other sweep.
	return json.Unmarshal(x.of.planned.Spec, &spec) == nil && len(spec.Sweep.Random) > 0
}

// hosts says where it ran, what stood idle, and what it cost.
func (m *markdown) hosts() {
	if len(m.Report.Hosts) == 0 {
		return
	}
	m.section(2, "Hosts and cost")
	gpus := slices.ContainsFunc(m.Report.Hosts, func(h Host) bool { return len(h.GPUs) > 0 })
	slots := slices.ContainsFunc(m.Report.Hosts, func(h Host) bool { return h.Slots > 1 })
	notes := slices.ContainsFunc(m.Report.Hosts, func(h Host) bool { return h.Note != nil })
	columns := []column{{"host", false}, {"kind", false}}
	if gpus {
		columns = append(columns, column{"GPUs", false})
	}
	columns = append(columns, column{"trials", true}, column{"failed", true}, column{"busy", true}, column{"idle", true})
	if notes {
		columns = append(columns, column{"note", false})
	}
	m.header(columns)
	for i := range m.Report.Hosts {
		h := &m.Report.Hosts[i]
		row := []string{cell(h.Name), cell(h.Kind)}
		if gpus {
			row = append(row, cell(models(h.GPUs)))
		}
		idle := ""
		if h.IdleS != nil {
			idle = duration(*h.IdleS)
		}
		row = append(row, fmt.Sprint(h.Trials), fmt.Sprint(h.Failed), duration(h.BusyS), idle)
		if notes {
			row = append(row, cell(deref(h.Note)))
		}
		m.row(row)
	}
	if slots {
		m.printf("\nBusy and idle count slots: a host with two slots has two hours in an hour.\n")
	}
	m.cost(gpus)
}

// cost is what the run used of GPUs and agents.
func (m *markdown) cost(gpus bool) {
	if gpus || m.Totals.GPUHours > 0 {
		m.printf("\nUsed %s GPU-hours.", short(round(m.Totals.GPUHours, 2)))
		m.idle()
		m.printf("\n")
	}
	if a := m.Totals.Agent; a.Turns > 0 {
		m.printf("\nAgents: %s, %d tokens in, %d out", count(a.Turns, "turn"), a.Tokens.Input, a.Tokens.Output)
		if a.USD != nil {
			m.printf(", $%.2f", *a.USD)
		}
		m.printf(".\n")
	}
}

// idle says in GPU-hours what stood idle, and why.
func (m *markdown) idle() {
	hours, sum := map[string]float64{}, 0.0
	for i := range m.Report.Hosts {
		h := &m.Report.Hosts[i]
		for why, s := range h.IdleWhy {
			hours[why] += s / 3600 * float64(len(h.GPUs)) / float64(h.Slots)
		}
	}
	var parts []string
	for _, why := range slices.SortedFunc(maps.Keys(hours), func(a, b string) int {
		return cmp.Or(cmp.Compare(hours[b], hours[a]), cmp.Compare(a, b))
	}) {
		if h := round(hours[why], 2); h > 0 {
			sum += hours[why]
			parts = append(parts, fmt.Sprintf("%s %s", short(h), strings.ReplaceAll(why, "_", " ")))
		}
	}
	if len(parts) > 0 {
		m.printf(" Idle: %s (%s).", short(round(sum, 2)), strings.Join(parts, ", "))
	}
}

// models is "2 × NVIDIA H100".
func models(gpus []ledger.GPU) string {
	counts := map[string]int{}
	var order []string
	for _, g := range gpus {
		name := cmp.Or(g.Model, "GPU")
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d × %s", counts[name], name)
	}
	return strings.Join(order, ", ")
}

// next is the command to type now.
func (m *markdown) next() {
	why, argv := m.state.Next()
	if len(argv) == 0 {
		return
	}
	m.section(2, "Next")
	m.printf("%s:\n\n%s", why, fence("sh", shell(argv)))
}

// Next is the command that a reader of the report should type now, and why; nothing where there is nothing to do.
func (s *State) Next() (why string, argv []string) {
	n := s.Counts().Trials
	switch {
	case s.run == "":
		return "", nil
	case s.skipped != nil && s.skipped.Holder == "":
		return "See what runs", s.xrun("status")
	case s.skipped != nil:
		return "See how the run stands that was active", s.xrun("status", s.skipped.Holder)
	case !s.complete():
		return "Go on where it stopped; nothing that finished is run again", s.xrun("resume", s.run)
	case s.finished.Outcome == "budget":
		return "Raise the budget, and go on with what it left out", s.xrun("resume", s.run, "--accept-changes")
	case s.finished.Outcome == "deadline":
		return "Go on with what the deadline left out", s.xrun("resume", s.run)
	case n.Failed > 0:
		if n.Succeeded+n.Reused == 0 {
			return "See why the first one failed", s.xrun("logs", s.ref(s.failures()[0].of[0]))
		}
		// Not --rerun failed: if mending the cause changes the code, every trial is a new one.
		return "Once the cause is mended, run it again; what need not be measured again is reused", s.again()
	case n.Lost+n.NotRun > 0:
		return "Run what has no result yet", s.again()
	}
	for _, x := range s.experiments {
		if _, best, _ := s.rank(x); best != nil {
			return "See the winner whole: its attempts, metrics and files",
				s.xrun("show", s.ref(x.byID[*best.Trial]))
		}
	}
	return "", nil
}

func (s *State) ref(t *trial) string { return s.run + "/" + t.key.Experiment + "/" + t.key.Trial }

// xrun is a command of xrun that finds this run: with the working and the state directory that were given to it.
func (s *State) xrun(args ...string) []string {
	argv := []string{"xrun"}
	if s.started != nil {
		for i, a := range s.started.Command {
			switch {
			case (a == "-C" || a == "--state") && i+1 < len(s.started.Command):
				argv = append(argv, a, s.started.Command[i+1])
			case strings.HasPrefix(a, "--state="), strings.HasPrefix(a, "-C") && a != "-C":
				argv = append(argv, a)
			}
		}
	}
	return append(argv, args...)
}

// again is the command that plans the same experiments anew.
func (s *State) again() []string {
	argv := s.xrun("run")
	if s.started == nil {
		return argv
	}
	argv = append(argv, s.started.Paths...)
	for _, t := range s.started.Tags {
		argv = append(argv, "-t", t)
	}
	if s.started.Inventory != "" {
		argv = append(argv, "--inventory", s.started.Inventory)
	}
	return argv
}
