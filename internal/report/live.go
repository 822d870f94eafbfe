package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// Live follows a run in plain lines, for a terminal and for a cron job's log alike. Quiet, it says nothing until
// something goes wrong: a cron job whose run went well sends no mail.
type Live struct {
	w      io.Writer
	quiet  bool
	state  State
	begun  bool
	done   int
	failed bool
	dir    string
	// alike are the trials that were not run for the reason of the one before, which stands in a line: a fuse or a
	// deadline leaves thousands.
	alike  int
	reason string
}

// NewLive returns a Live that writes to w. What w does not take is lost: a terminal that went away stops no run.
func NewLive(w io.Writer, quiet bool) *Live {
	return &Live{w: w, quiet: quiet, state: State{noSeries: true, brief: true}}
}

// In says where the state directory is, so that the paths of logs can be opened from anywhere.
func (l *Live) In(dir string) *Live {
	l.dir = dir
	return l
}

// State is what the events so far say, without the values of metrics by step.
func (l *Live) State() *State { return &l.state }

// Handle takes one event and says what is worth a line.
func (l *Live) Handle(e ledger.Event) {
	l.state.Apply(e)
	switch b := e.Body.(type) {
	case ledger.RunStarted:
		for _, w := range b.Warnings {
			l.say("warning: %s", w)
		}
	case ledger.RunResumed:
		l.begun = false
		for _, a := range b.Accepted {
			l.say("warning: resumed with a changed spec: %s", a)
		}
		l.begin() // now: what is adopted may end before anything is started
	case ledger.ExperimentPlanned, ledger.TrialPlanned, ledger.CodeStored:
	case ledger.AttemptIntended:
		l.begin()
		l.retry(b)
	case ledger.AttemptState:
		if b.State == ledger.Unknown {
			t := l.state.trial(b.Key)
			l.say("%s does not answer%s; %s may still run there", t.last().host, because(b.Reason), l.name(t))
		}
	case ledger.TrialFinished:
		l.ended(l.state.trial(b.Key))
	case ledger.HostState:
		switch {
		case b.State != serving:
			l.say("host %s: %s%s", b.Host, b.State, because(b.Reason))
		case b.Reason != "":
			l.say("host %s: %s", b.Host, b.Reason)
		}
	case ledger.Warning:
		l.say("warning: %s", b.Message)
	case ledger.IterationFinished:
		l.begin()
		l.say("%s: iteration %d %s%s", b.Experiment, b.Iteration, b.Decision, because(b.Reason))
	case ledger.RunInterrupted:
		l.end(true)
		if why, argv := l.state.Next(); len(argv) > 0 {
			l.say("%s: %s", strings.ToLower(why[:1])+why[1:], shell(argv))
		}
	case ledger.RunFinished:
		l.begin()
		l.end(false)
	}
}

// ended takes the end of a trial.
func (l *Live) ended(t *trial) {
	switch {
	case t.finished.State != ledger.Reused:
		if !l.begun {
			l.begin()
			l.done-- // it was counted as one that had ended before
		}
		l.trial(t)
	case l.begun:
		l.done++ // those are told by begin, all at once
	}
	l.state.forget(t)
}

func (l *Live) line(format string, args ...any) {
	l.flush()
	fmt.Fprintln(l.w, visible(fmt.Sprintf(format, args...)))
}

// say writes a line unless quiet.
func (l *Live) say(format string, args ...any) {
	if !l.quiet {
		l.line(format, args...)
	}
}

// begin says once what the run is going to do, when its plan is known.
func (l *Live) begin() {
	if l.begun {
		return
	}
	l.begun = true
	reused := 0
	l.done = 0
	for _, x := range l.state.experiments {
		before := reused
		for _, t := range x.trials {
			if t.finished == nil {
				continue
			}
			l.done++
			if t.finished.State == ledger.Reused {
				reused++
			}
		}
		if x.undeclared() > 0 {
			reused = before + x.planned.Reusable
		}
	}
	line := fmt.Sprintf("run %s: %s of %s", l.state.run, count(l.total(), "trial"), count(len(l.state.experiments), "experiment"))
	if reused > 0 {
		line += fmt.Sprintf(", %d reused", reused)
	}
	if l.state.resumed > 0 {
		line += fmt.Sprintf(", %d finished before", l.done-reused)
	}
	l.say("%s", line)
}

// retry says that an earlier attempt failed and another one follows.
func (l *Live) retry(b ledger.AttemptIntended) {
	t := l.state.trial(b.Key)
	if b.Attempt.Attempt < 2 {
		return
	}
	for _, a := range t.attempts {
		if a.n == b.Attempt.Attempt-1 && a.finished != nil {
			l.say("attempt %d of %s on %s; the one before: %s%s", b.Attempt.Attempt, l.name(t), b.Host,
				orElse(a.finished.Cause, string(a.finished.State)), because(a.finished.Message))
		}
	}
}

// trial says how a trial ended. Reused ones were counted in the first line.
func (l *Live) trial(t *trial) {
	l.done++
	x := l.state.experiment(t.key.Experiment)
	switch state := t.final(); state {
	case ledger.Reused:
	case ledger.Succeeded:
		line := fmt.Sprintf("%s ok      %s", l.progress(), l.name(t))
		if v, ok := t.value(); ok {
			line += fmt.Sprintf("  %s %s", x.objective().Metric, short(v))
		}
		l.say("%s%s", line, where(t))
	case ledger.NotRun, ledger.Cancelled, ledger.StoppedEarly:
		cause, message := t.cause()
		l.leave(t, strings.ReplaceAll(string(state), "_", " "), join(cause, message))
	default:
		l.failed = true
		cause, message := t.cause()
		l.line("%s %-7s %s%s%s", l.progress(), strings.ToUpper(string(state)), l.name(t), because(join(cause, message)), where(t))
		if o := t.outcome(); o != nil && o.Log != "" {
			l.line("        log: %s", filepath.Join(l.dir, o.Log))
		}
	}
}

// leave says that a trial has no result, once for all in a row that have the same reason.
func (l *Live) leave(t *trial, state, why string) {
	reason := t.key.Experiment + "\x00" + state + "\x00" + why
	if reason == l.reason {
		l.alike++
		return
	}
	l.say("%s %-7s %s%s", l.progress(), state, l.name(t), because(why))
	l.reason = reason
}

// flush says how many there were.
func (l *Live) flush() {
	n := l.alike
	l.alike, l.reason = 0, ""
	if n > 0 && !l.quiet {
		l.line("        and %d more for the same reason", n)
	}
}

// progress is "[ 7/18]".
func (l *Live) progress() string {
	total := l.total()
	return fmt.Sprintf("[%*d/%d]", len(fmt.Sprint(total)), l.done, total)
}

// total is the number of trials of the run.
func (l *Live) total() int {
	n := 0
	for _, x := range l.state.experiments {
		n += len(x.trials) + x.undeclared()
	}
	return n
}

// name is the trial with its experiment.
func (l *Live) name(t *trial) string {
	return t.key.Experiment + " " + t.name()
}

// where is how long and where a trial ran: "  (3 min 12 s, gpu-a)".
func where(t *trial) string {
	o, a := t.outcome(), t.counted()
	if o == nil || a == nil {
		return ""
	}
	return fmt.Sprintf("  (%s, %s)", duration(o.DurationS), a.host)
}

// end is the summary. Quiet, it comes only after a failure or an interruption.
func (l *Live) end(always bool) {
	f := l.state.finished
	if l.quiet && !l.failed && !always && (f == nil || f.ExitCode == 0) {
		return
	}
	line := fmt.Sprintf("run %s: %s; took %s", l.state.run, l.state.headline(), duration(l.state.wall().Seconds()))
	if f != nil && f.Reason != "" {
		line += "; " + f.Reason
	}
	l.line("%s", line)
}

// join is "cause: message", or the one of them that there is.
func join(cause, message string) string {
	if cause == "" || message == "" {
		return cause + message
	}
	return cause + ": " + message
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
