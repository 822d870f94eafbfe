package report

import (
	"encoding/json"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// StatusSchemaVersion is the version of the JSON of `xrun status`.
const StatusSchemaVersion = 1

// StatusOptions are what the state of a run follows from and its events do not say.
type StatusOptions struct {
	Now         time.Time
	PID         int        // of the process that works on the run; 0: none does
	MaxParallel int        // asked for by the command; 0 is no limit
	Deadline    *time.Time // in force now
	Budget      *plan.Budget
	// RetryAfter is how long after its last attempt a trial is tried again whose attempts ended like these.
	RetryAfter func(e *plan.Experiment, ended []ledger.AttemptFinished) time.Duration
	// Runs reports whether a cause shows that the code runs, so that nothing waits for a canary any more.
	Runs func(cause string) bool
}

// A Status is where a run stands. Its JSON is that of `xrun status`: every key is always there, what does not apply is
// null, and no list is null.
type Status struct {
	SchemaVersion int                `json:"schema_version"`
	At            time.Time          `json:"at"`
	Run           StatusRun          `json:"run"`
	Trials        StatusTrials       `json:"trials"`
	Running       []StatusRunning    `json:"running"` // in the order in which they were started
	Waiting       []StatusWaiting    `json:"waiting"`
	Experiments   []StatusExperiment `json:"experiments"`
	Failures      []Failure          `json:"failures"`
	Hosts         []StatusHost       `json:"hosts"`
	Spent         StatusSpent        `json:"spent"`
	Budget        *StatusBudget      `json:"budget"`
	Deadline      *time.Time         `json:"deadline"`
	Warnings      []string           `json:"warnings"`
}

// StatusRun says which run it is and whether anybody works on it.
type StatusRun struct {
	ID       string     `json:"id"`
	Command  []string   `json:"command"` // of the process that works on it, or did last
	Started  *time.Time `json:"started"`
	Active   bool       `json:"active"`
	PID      *int       `json:"pid"`     // null unless active
	Outcome  *string    `json:"outcome"` // null while active; else as in report.json
	ExitCode *int       `json:"exit_code"`
	Reason   *string    `json:"reason"`
	Finished *time.Time `json:"finished"`
}

// StatusTrials count trials by state; they add up to Planned.
type StatusTrials struct {
	TrialTotals
	Queued  int `json:"queued"`
	Running int `json:"running"` // on a slot; what is prepared for the next one is queued
}

// StatusRunning is an attempt without an outcome.
type StatusRunning struct {
	Experiment string       `json:"experiment"`
	Trial      string       `json:"trial"`
	Params     plan.Params  `json:"params"`
	Seed       int64        `json:"seed"`
	Attempt    int          `json:"attempt"`
	Host       string       `json:"host"`
	GPUs       []ledger.GPU `json:"gpus"`
	State      string       `json:"state"` // staging, running, collecting, or unknown: the host does not answer
	Reason     *string      `json:"reason"`
	Since      *time.Time   `json:"since"`
	ForS       float64      `json:"for_s"`
	Metric     string       `json:"metric"`
	Objective  *float64     `json:"objective"` // the newest that was printed; null if none, or not finite
	Step       *float64     `json:"step"`

	name string
}

// The reasons for which trials wait.
const (
	WaitsInactive    = "inactive"     // nobody works on the run
	WaitsInputs      = "inputs"       // another experiment has to be over first
	WaitsMaxParallel = "max_parallel" // as many run as may
	WaitsCanary      = "canary"       // one goes ahead
	WaitsRetry       = "retry"        // tried again later
	WaitsHost        = "host"         // no host serves
	WaitsSlot        = "slot"         // every slot is taken
	WaitsUnknown     = "unknown"      // the record does not say why
)

// StatusWaiting are trials of an experiment that wait for one reason.
type StatusWaiting struct {
	Experiment string     `json:"experiment"`
	Why        string     `json:"why"`
	Reason     string     `json:"reason"` // in words
	Count      int        `json:"count"`
	Next       []string   `json:"next"`  // the first ten of them
	Until      *time.Time `json:"until"` // of a retry
}

// StatusExperiment is what an experiment has found so far.
type StatusExperiment struct {
	Name      string       `json:"name"`
	Kind      string       `json:"kind"`
	Objective Objective    `json:"objective"`
	Trials    StatusTrials `json:"trials"`
	Best      *StatusBest  `json:"best"`
	Note      *string      `json:"note"`
	Verdict   *string      `json:"verdict"`

	scale scale
}

// StatusBest is the best point so far, with its noise.
type StatusBest struct {
	Params plan.Params `json:"params"`
	N      int         `json:"n"`
	Mean   *float64    `json:"mean"`
	SD     *float64    `json:"sd"`
	Tied   int         `json:"tied"` // other points that cannot be told from it
}

// StatusHost is a host of the run.
type StatusHost struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`
	State   string       `json:"state"`
	Reason  *string      `json:"reason"`
	Slots   int          `json:"slots"`
	Running int          `json:"running"`
	GPUs    []ledger.GPU `json:"gpus"`
}

// StatusSpent is what the run has cost so far. GPUHours are those of attempts that ended, and Runs are those that were not
// taken back before they ran, as a budget counts them.
type StatusSpent struct {
	WallS    float64 `json:"wall_s"`
	GPUHours float64 `json:"gpu_hours"`
	Runs     int     `json:"runs"`
}

// StatusBudget are the bounds of the spec, null where there is none.
type StatusBudget struct {
	WallS    *float64 `json:"wall_s"`
	GPUHours *float64 `json:"gpu_hours"`
	Runs     *int     `json:"runs"`
}

// Newest is a State that keeps only the newest value of each metric, and of running attempts alone: for who wants to know
// where a run stands.
func Newest() *State { return &State{newest: true} }

// Status says where the run stands.
func (s *State) Status(o StatusOptions) *Status {
	st := &Status{
		SchemaVersion: StatusSchemaVersion, At: o.Now.UTC(), Run: s.statusRun(o), Running: []StatusRunning{}, Waiting: []StatusWaiting{},
		Experiments: []StatusExperiment{}, Failures: s.failures(), Hosts: []StatusHost{}, Warnings: orEmpty(s.warnings),
	}
	if o.Deadline != nil {
		st.Deadline = utc(o.Deadline)
	}
	if b := o.Budget; b != nil {
		st.Budget = &StatusBudget{GPUHours: b.GPUHours, Runs: b.Runs}
		if b.Wall != nil {
			wall := b.Wall.Seconds()
			st.Budget.WallS = &wall
		}
	}
	if s.skipped != nil {
		return st
	}
	w := &waits{State: s, StatusOptions: o, busy: map[string]int{}}
	st.Spent = s.spent(o, w)
	for _, x := range w.all {
		x.sort()
	}
	w.prepared()
	for _, x := range w.all {
		e := x.status()
		st.Experiments = append(st.Experiments, e)
		st.Trials.add(e.Trials)
	}
	st.Running = w.running()
	for _, x := range w.all {
		st.Waiting = append(st.Waiting, w.waiting(x)...)
	}
	for _, h := range s.hosts {
		st.Hosts = append(st.Hosts, StatusHost{h.name, h.state.Kind, h.state.State, orNil(h.state.Reason), h.state.Slots, w.busy[h.name], orEmpty(h.state.GPUs)})
	}
	return st
}

func (s *State) statusRun(o StatusOptions) StatusRun {
	i := s.runInfo()
	r := StatusRun{ID: s.run, Command: orEmpty(s.command), Started: i.Started, Active: o.PID != 0}
	if r.Active {
		r.PID = &o.PID
		return r
	}
	r.Outcome, r.ExitCode, r.Reason, r.Finished = &i.Outcome, i.ExitCode, i.Reason, i.Finished
	return r
}

// spent adds up what the run cost, and gathers its experiments as the scheduler sees them.
func (s *State) spent(o StatusOptions, w *waits) StatusSpent {
	var sum StatusSpent
	for _, x := range s.experiments {
		v := &waitingExperiment{experiment: x}
		if x.planned != nil && json.Unmarshal(x.planned.Spec, &v.spec) != nil {
			v.spec = plan.Experiment{} // of another version: nothing follows from it
		}
		w.all = append(w.all, v)
		share := float64(v.spec.Needs.GPUs) / float64(max(1, v.spec.Needs.PerGPU)) / 3600
		if x.part != nil {
			sum.Runs += x.part.attempts
			sum.GPUHours += x.part.spent * share
			continue
		}
		for _, t := range x.trials {
			for _, a := range t.attempts {
				if a.finished == nil || !a.finished.TakenBack() {
					sum.Runs++
				}
				if a.finished != nil {
					sum.GPUHours += a.finished.DurationS * share
				}
			}
		}
	}
	wall := s.wall()
	if o.PID != 0 && o.Now.After(s.lastAt) {
		wall += o.Now.Sub(s.lastAt)
	}
	sum.WallS, sum.GPUHours = round(wall.Seconds(), 3), round(sum.GPUHours, 6)
	return sum
}

func (t *StatusTrials) add(u StatusTrials) {
	for _, state := range []ledger.State{ledger.Succeeded, ledger.Reused, ledger.Failed, ledger.StoppedEarly, ledger.Cancelled, ledger.NotRun, ledger.Lost} {
		*t.of(state) += *u.of(state)
	}
	t.Planned += u.Planned
	t.Queued += u.Queued
	t.Running += u.Running
}
