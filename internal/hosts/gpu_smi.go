package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// smiPatience is what a look at the GPUs may take. With a sick one nvidia-smi hangs for minutes.
	smiPatience = 5 * time.Second
	// smiOutput bounds what is read: some KB are usual.
	smiOutput = 1 << 20
)

// errSMIHangs is that nvidia-smi gave no answer in time.
var errSMIHangs = fmt.Errorf("nvidia-smi gave no answer within %v", smiPatience)

// A smi asks nvidia-smi. One that hangs is not asked again before it has ended.
type smi struct {
	path string // absolute

	mu    sync.Mutex
	asked bool
	pid   int // of what was started; 0 if none runs
}

// findSMI finds the program; without it a machine has no GPU that we know of.
func findSMI() (*smi, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err == nil {
		return &smi{path: path}, nil
	}
	for _, amd := range []string{"amd-smi", "rocm-smi"} {
		if _, err := exec.LookPath(amd); err == nil {
			return nil, fmt.Errorf("%w: there is no nvidia-smi on PATH; %s is, but only GPUs of NVIDIA can be leased yet", errNoGPU, amd)
		}
	}
	return nil, fmt.Errorf("%w: there is no nvidia-smi on PATH", errNoGPU)
}

// A look is what nvidia-smi said at one time.
type look struct {
	gpus   []smiGPU
	odd    []string
	slices []slice // only where they were asked for
	apps   []smiApp
	none   bool // there is no GPU any more
}

// look asks once for everything; slices only if they are wanted. The deadline is one for all questions.
func (s *smi) look(ctx context.Context, slices bool) (look, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, smiPatience, errSMIHangs)
	defer cancel()
	var l look
	out, exit, err := s.ask(ctx, smiGPUs, smiCSV)
	if err != nil {
		return l, err
	}
	if l.gpus, l.odd = parseGPUs(out); len(l.gpus) == 0 {
		return l, refusal(out, exit)
	}
	out, exit, err = s.ask(ctx, smiApps, smiCSV)
	if err != nil {
		return l, err
	}
	if exit != 0 {
		return l, refusal(out, exit)
	}
	l.apps = parseApps(out)
	if !slices {
		return l, nil
	}
	out, exit, err = s.ask(ctx, "-L")
	if err != nil {
		return l, err
	}
	if exit != 0 {
		return l, refusal(out, exit)
	}
	l.slices = parseSlices(out)
	return l, nil
}

// ask runs nvidia-smi. It returns when ctx ends, also if the program cannot be killed: one that waits for a sick driver
// hears no signal.
func (s *smi) ask(ctx context.Context, args ...string) (out string, exit int, err error) {
	s.mu.Lock()
	if s.asked {
		s.mu.Unlock()
		return "", 0, fmt.Errorf("%w, and still hangs", errSMIHangs)
	}
	s.asked = true
	s.mu.Unlock()
	type answer struct {
		out  string
		exit int
		err  error
	}
	done := make(chan answer, 1)
	go func() { // ends with the program
		var a answer
		a.out, a.exit, a.err = s.run(ctx, args)
		s.mu.Lock()
		s.asked, s.pid = false, 0
		s.mu.Unlock()
		done <- a
	}()
	select {
	case a := <-done:
		if ctx.Err() != nil {
			return "", 0, context.Cause(ctx)
		}
		return a.out, a.exit, a.err
	case <-ctx.Done():
	}
	select { // what can be killed is gone at once
	case <-done:
	case <-time.After(500 * time.Millisecond):
	}
	return "", 0, context.Cause(ctx)
}

func (s *smi) run(ctx context.Context, args []string) (string, int, error) {
	var out bounded
	cmd := exec.CommandContext(ctx, s.path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // how the rest of the supervisor's children is told from it
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	s.mu.Lock()
	s.pid = cmd.Process.Pid
	s.mu.Unlock()
	err := cmd.Wait()
	e, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case ok:
		return out.String(), e.ExitCode(), nil
	case errors.Is(err, syscall.ECHILD): // whoever waits for a job's children waited for this one too
		return out.String(), 0, nil
	}
	return out.String(), 0, err
}

// session is that of the program that runs now; 0 if none does.
func (s *smi) session() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// A bounded keeps the first smiOutput bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, smiOutput-b.Len()))])
	return len(p), nil
}
