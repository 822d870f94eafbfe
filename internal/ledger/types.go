package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
)

// A TypeInfo describes one type of event for `xrun help events`.
type TypeInfo struct {
	Type Type
	Doc  string
	body reflect.Type
}

func info[B Body](doc string) TypeInfo {
	var b B
	return TypeInfo{b.EventType(), doc, reflect.TypeFor[B]()}
}

// Types is the one list of event types, in the order in which a run brings them.
var Types = []TypeInfo{
	info[RunStarted]("a run begins"),
	info[RunResumed]("an unfinished run is taken up again"),
	info[RunInterrupted]("xrun stopped before the run was complete; it can be resumed"),
	info[RunFinished]("a run is complete"),
	info[RunImported]("the run comes from another ledger; what follows was recorded there"),
	info[RunSkipped]("a start found another run active and did nothing"),
	info[CodeStored]("the files of one version of the code"),
	info[ExperimentPlanned]("an experiment of the run"),
	info[TrialPlanned]("a trial of the run"),
	info[AttemptIntended]("an attempt is about to be started on a host"),
	info[AttemptStarted]("the command of an attempt runs"),
	info[AttemptState]("an attempt's state changed in passing (unknown: the host does not answer)"),
	info[MetricValues]("values of a metric, by step"),
	info[AttemptFinished]("the outcome of an attempt (superseded: its twin counts)"),
	info[TrialFinished]("the final state of a trial"),
	info[StepFinished]("the recorded result of a step of a loop"),
	info[IterationStarted]("an iteration of a loop begins"),
	info[IterationFinished]("the decision of an iteration"),
	info[TurnStarted]("an agent's turn begins"),
	info[TurnFinished]("what came of an agent's turn, and its usage"),
	info[ExperimentFinished]("an experiment is complete, with its verdict if it has one"),
	info[HostState]("a host serves, or does not, and why"),
	info[Warning]("something the reader of the report should know"),
}

// EventType implements Body.
func (RunStarted) EventType() Type { return "run_started" }

// EventType implements Body.
func (RunResumed) EventType() Type { return "run_resumed" }

// EventType implements Body.
func (RunInterrupted) EventType() Type { return "run_interrupted" }

// EventType implements Body.
func (RunFinished) EventType() Type { return "run_finished" }

// EventType implements Body.
func (RunImported) EventType() Type { return "run_imported" }

// EventType implements Body.
func (RunSkipped) EventType() Type { return "run_skipped" }

// EventType implements Body.
func (CodeStored) EventType() Type { return "code_stored" }

// EventType implements Body.
func (ExperimentPlanned) EventType() Type { return "experiment_planned" }

// EventType implements Body.
func (TrialPlanned) EventType() Type { return "trial_planned" }

// EventType implements Body.
func (AttemptIntended) EventType() Type { return "attempt_intended" }

// EventType implements Body.
func (AttemptStarted) EventType() Type { return "attempt_started" }

// EventType implements Body.
func (AttemptState) EventType() Type { return "attempt_state" }

// EventType implements Body.
func (MetricValues) EventType() Type { return "metric_values" }

// EventType implements Body.
func (AttemptFinished) EventType() Type { return "attempt_finished" }

// EventType implements Body.
func (TrialFinished) EventType() Type { return "trial_finished" }

// EventType implements Body.
func (StepFinished) EventType() Type { return "step_finished" }

// EventType implements Body.
func (IterationStarted) EventType() Type { return "iteration_started" }

// EventType implements Body.
func (IterationFinished) EventType() Type { return "iteration_finished" }

// EventType implements Body.
func (TurnStarted) EventType() Type { return "turn_started" }

// EventType implements Body.
func (TurnFinished) EventType() Type { return "turn_finished" }

// EventType implements Body.
func (ExperimentFinished) EventType() Type { return "experiment_finished" }

// EventType implements Body.
func (HostState) EventType() Type { return "host_state" }

// EventType implements Body.
func (Warning) EventType() Type { return "warning" }

// New returns an event of run that says body, at the time at.
func New(run string, at time.Time, body Body) Event {
	return Event{Version: SchemaVersion, Run: run, At: at.UTC(), Type: body.EventType(), Body: body}
}

// DecodeBody reads the body of an event of type t. A type that this program does not know is an error.
func DecodeBody(t Type, b []byte) (Body, error) {
	for i := range Types {
		if Types[i].Type == t {
			v := reflect.New(Types[i].body)
			if err := json.Unmarshal(b, v.Interface()); err != nil {
				return nil, fmt.Errorf("event %s: %w", t, err)
			}
			return v.Elem().Interface().(Body), nil
		}
	}
	return nil, fmt.Errorf("event type %q is not known to this version of xrun", t)
}

// UnmarshalJSON reads one line of events.jsonl.
func (e *Event) UnmarshalJSON(b []byte) error {
	type plain Event // without methods
	raw := struct {
		*plain
		Body json.RawMessage `json:"body"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	body, err := DecodeBody(e.Type, raw.Body)
	e.Body = body
	return err
}

// MarshalJSON writes null for nan and inf.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as nan.
func (n *Number) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}
