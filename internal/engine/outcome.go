package engine

import (
	"fmt"
	"math"
	"regexp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// judge turns the end of an attempt and what was found of its metrics into its outcome; lost is why its files are not
// there.
func (f *follower) judge(exit hosts.Exit, results []finding, lost error) ledger.AttemptFinished {
	out := ledger.AttemptFinished{
		Attempt: f.a.Attempt, Host: f.a.host, DurationS: exit.Duration.Seconds(),
		Metrics: map[string]ledger.Number{}, Picks: map[string]string{}, Artifacts: []string{}, Notes: []string{},
	}
	if exit.Code >= 0 && exit.End == hosts.Exited {
		code := exit.Code
		out.ExitCode = &code
	}
	if !exit.Started.IsZero() {
		at := exit.Started.UTC()
		out.Started = &at
	}
	out.PeakGPUMB, out.GPUUtilMean = greater(f.extract.Extras(), exit.PeakGPUMB), exit.GPUUtilMean
	out.Notes = append(out.Notes, f.extract.Notes()...)
	f.note(&out, results)
	cause, message := f.cause(exit, results[0], lost)
	if exit.DiskFull && spoiltBy(cause) {
		cause, message = CauseDiskFull, fmt.Sprintf("no space left on %s: %s", f.a.host, message)
		f.full = true
	}
	why, early := stoppedEarly(exit)
	switch {
	case early && lost == nil:
		out.State, out.Message, out.Partial = ledger.StoppedEarly, why, len(out.Metrics) > 0
		return out
	case cause == "":
		out.State = ledger.Succeeded
		v := ledger.Number(results[0].Value)
		out.Objective = &v
	case policy(cause).Blame == BlameUs:
		out.State = ledger.Cancelled
	default:
		out.State = ledger.Failed
		out.Excerpt = f.tail.excerpt(20)
	}
	if cause != "" {
		out.Cause, out.Message, out.Partial = string(cause), message, len(out.Metrics) > 0
	}
	if out.State == ledger.Failed {
		out.Signature = signature(cause, out.ExitCode, f.tail.lines())
	}
	return out
}

// spoiltBy reports whether a full disk explains that an attempt ended for that cause: what could not be written is not there.
func spoiltBy(c Cause) bool {
	switch c {
	case CauseExit, CauseNoMetric, CauseMetricError, CauseNotFound, CauseMissingDependency, CauseSetup, CauseSync, CauseNeverStarted, CauseDiskFull:
		return true
	}
	return false
}

// greater of what the program says of itself and what was seen now and then; both miss something.
func greater(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// note puts what was found into the outcome.
func (f *follower) note(out *ledger.AttemptFinished, results []finding) {
	for _, w := range wants(f.a.exp) {
		out.Picks[w.Name] = w.how()
	}
	for _, r := range results {
		if r.Found && !r.Diverged {
			out.Metrics[r.Name] = ledger.Number(r.Value)
		}
		for _, what := range []string{r.Problem, r.Conflict} {
			if what != "" {
				out.Notes = append(out.Notes, fmt.Sprintf("metric %s: %s", r.Name, what))
			}
		}
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// cause says why an attempt did not succeed, and puts it in a sentence; "" if it did.
func (f *follower) cause(exit hosts.Exit, objective finding, lost error) (Cause, string) {
	l := f.a.exp.Limits
	if exit.Step != "" && (exit.End == hosts.Exited || exit.End == hosts.TimedOut) {
		return f.stepCause(exit)
	}
	switch exit.End {
	case hosts.TimedOut:
		note := ""
		if !f.a.exp.Set["limits.trial"] {
			note = ", the default; set it in the experiment"
		}
		return CauseTimeout, fmt.Sprintf("did not end within limits.trial (%s%s)", l.Trial, note)
	case hosts.Silent:
		return CauseSilence, fmt.Sprintf("printed nothing for limits.silence (%s)", plan.Duration(durationOf(l.Silence)))
	case hosts.Stopped:
		return CauseCancelled, "stopped: " + exit.Reason
	case hosts.Vanished:
		return CauseVanished, "gone without an exit status: " + exit.Reason
	case hosts.NeverStarted:
		return CauseNeverStarted, "was handed to the host but never started" + because(exit.Reason)
	case hosts.GPULost:
		return CauseGPULost, "a GPU that it had is not there any more (`nvidia-smi`, and the kernel's log, tell more)"
	}
	if exit.Code != 0 {
		return f.exitCause(exit)
	}
	switch {
	case lost != nil:
		return CauseSync, "its files did not come home: " + brief(lost.Error())
	case objective.Found && objective.Diverged:
		where := fmt.Sprintf("line %d", objective.Line)
		if objective.file != "" {
			where += " of " + objective.file
		}
		return CauseDiverged, fmt.Sprintf("%s is not finite (%s)", objective.Name, where)
	case objective.Failed:
		return CauseMetricError, fmt.Sprintf("metric %s: %s", objective.Name, objective.Problem)
	case !objective.Found:
		return CauseNoMetric, "ended well, but " + objective.missing
	}
	return "", ""
}

// stepCause is the cause of a setup or an evaluation that failed. Its log is the tail.
func (f *follower) stepCause(exit hosts.Exit) (Cause, string) {
	late := exit.End == hosts.TimedOut
	if exit.Step == "setup" {
		if late {
			return CauseSetup, fmt.Sprintf("setup did not end within setup.timeout (%s)", f.a.exp.Setup.Timeout)
		}
		return CauseSetup, fmt.Sprintf("setup failed on %s with exit status %d: %s", f.a.host, exit.Code, f.tail.excerpt(1))
	}
	if late {
		return CauseTimeout, fmt.Sprintf("evaluate did not end within limits.evaluate (%s)", f.a.exp.Limits.Evaluate)
	}
	cause, message := f.exitCause(exit)
	return cause, exit.Step + ": " + message
}

var (
	missingRE = regexp.MustCompile(`ModuleNotFoundError: No module named ('[^'\n]*'|\S+)|ImportError: (.+)|error while loading shared libraries: (\S+)`)
	oomGPU    = regexp.MustCompile(`CUDA out of memory|OutOfMemoryError: CUDA|HIP out of memory|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED: Out of memory`)
	// jobLine is what a shell puts before what it says of a job's script: where that lies tells the user nothing.
	jobLine  = regexp.MustCompile(`^\S+/(?:job|setup|evaluate): (line )?[0-9]+: (exec: )?`)
	noGPU    = regexp.MustCompile(`No CUDA GPUs are available|no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|Torch not compiled with CUDA enabled|No visible GPU devices`)
	diskFull = regexp.MustCompile(`No space left on device|\[Errno 28\]`)
)

// pathWas is where programs were looked for.
func pathWas(path string) string {
	if path == "" {
		return ""
	}
	return " (PATH was " + brief(path) + ")"
}

// exitCause is the cause of an exit status other than 0, as far as the end of the log tells it.
func (f *follower) exitCause(exit hosts.Exit) (Cause, string) {
	code := exit.Code
	end := f.tail.excerpt(40)
	last := f.tail.excerpt(1)
	switch {
	case code == 126 || code == 127:
		return CauseNotFound, fmt.Sprintf("the command could not be run on %s: %s%s", f.a.host, jobLine.ReplaceAllString(last, ""), pathWas(exit.Path))
	case code == 137:
		return CauseKilled, "killed by signal 9 (memory is the usual cause)"
	case oomGPU.MatchString(end):
		return CauseOOMGPU, "out of GPU memory: " + last
	case f.a.exp.Needs.GPUs > 0 && noGPU.MatchString(end):
		return CauseNoGPUSeen, "the program found no GPU though it has some: " + noGPU.FindString(end)
	case diskFull.MatchString(end):
		return CauseDiskFull, "no space left on " + f.a.host
	}
	if m := missingRE.FindStringSubmatch(end); m != nil {
		return CauseMissingDependency, fmt.Sprintf("something is missing on %s: %s%s", f.a.host, m[0], pathWas(exit.Path))
	}
	message := fmt.Sprintf("exit status %d", code)
	if code > 128 && code < 128+65 {
		message = fmt.Sprintf("killed by signal %d", code-128)
	}
	if last != "" {
		message += ": " + last
	}
	return CauseExit, message
}
