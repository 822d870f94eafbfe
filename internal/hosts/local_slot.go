package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An entry is a job of ours between Start and its end: what news tell of it. The files say the same, later.
type entry struct {
	id      string
	dir     jobDir
	order   order
	status  Status        // set before running is closed
	running chan struct{} // closed when it is known to run
	failed  string        // why its supervisor could not start it; set before done is closed
	need    *GPUNeed      // nil: it takes a slot
	why     string        // it waits, if there is more to say than that; guarded by Local.mu
	done    chan struct{} // closed when there will be no more news: look at the files
}

// A slot is one supervisor process, started when there is a job for it and again when it died.
type slot struct {
	n   int
	cmd *exec.Cmd // nil: none runs
	in  *os.File
	out *os.File
	cur *entry // what was handed to it
}

// release lets the supervisor go on alone. The news of one that is busy are not waited for.
func (s *slot) release() {
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	if s.cur != nil {
		_ = s.out.Close()
	}
}

// dispatch hands queued jobs to idle slots. The queue is here and not in the supervisors, so that no job waits behind a
// long one while another slot is idle. The caller holds l.mu.
func (l *Local) dispatch() error {
	reserved, full := map[*localGPU]bool{}, false
	for i := 0; i < len(l.queue) && !l.closed; {
		e := l.queue[i]
		if e.need == nil && full {
			i++
			continue
		}
		s, gpus := l.slotFor(e, reserved)
		full = full || e.need == nil && s == nil
		if s == nil {
			i++
			continue
		}
		if s.cmd == nil {
			if err := l.hire(s); err != nil {
				return err
			}
		}
		if l.queue = slices.Delete(l.queue, i, i+1); gpus != nil {
			l.assign(e, gpus)
		}
		line, err := json.Marshal(e.order)
		if err != nil {
			return err
		}
		s.cur = e
		// A supervisor that died just now takes the line to its grave: its reader settles the job.
		_, _ = s.in.Write(append(line, '\n'))
	}
	return nil
}

// slotFor finds a slot for a job, and its GPUs if it needs any. nil: it has to wait.
func (l *Local) slotFor(e *entry, reserved map[*localGPU]bool) (*slot, []*localGPU) {
	if e.need == nil {
		return idle(l.slots), nil
	}
	now := time.Now()
	gpus := l.stock.choose(e, now, reserved)
	if gpus == nil {
		l.stock.reserve(e, now, reserved)
		return nil, nil
	}
	s := idle(l.extra)
	if s == nil {
		s = &slot{n: len(l.slots) + len(l.extra)}
		l.extra = append(l.extra, s)
	}
	return s, gpus
}

// idle picks a slot, a living supervisor first.
func idle(slots []*slot) *slot {
	var fresh *slot
	for _, s := range slots {
		switch {
		case s.cur != nil:
		case s.cmd != nil:
			return s
		case fresh == nil:
			fresh = s
		}
	}
	return fresh
}

// hire starts a supervisor: in a session of its own, so that neither the terminal's signals nor its end reach it.
func (l *Local) hire(s *slot) error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = inR.Close(), inW.Close()
		return err
	}
	cmd := exec.Command(l.cfg.Supervisor[0], l.cfg.Supervisor[1:]...)
	cmd.Dir = l.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, l.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		_, _ = inW.Close(), outR.Close()
		return fmt.Errorf("start a supervisor: %w", err)
	}
	s.cmd, s.in, s.out = cmd, inW, outR
	l.work.Go(func() { l.listen(s, cmd, outR) })
	l.log.Debug("supervisor started", "slot", s.n, "pid", cmd.Process.Pid)
	return nil
}

// listen reads the news of one supervisor until it ends, or until Close leaves it to itself.
func (l *Local) listen(s *slot, cmd *exec.Cmd, out *os.File) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		l.heard(s, lines.Text())
	}
	l.mu.Lock()
	left := s.cur
	s.cur, s.cmd = nil, nil
	alone := l.closed && left != nil
	_, _ = s.in.Close(), out.Close()
	l.mu.Unlock()
	if alone {
		// It still runs our job and will end when that has. Nobody waits for it: we are about to end.
		_ = cmd.Process.Release()
	} else {
		err := cmd.Wait()
		if err != nil {
			l.log.Warn("supervisor ended", "slot", s.n, "pid", cmd.Process.Pid, "error", err)
		}
	}
	if left != nil {
		l.settle(left, stopNever)
	}
	l.mu.Lock()
	err := l.dispatch()
	var stuck []*entry
	if err != nil && !l.manned() { // nothing would ever come to start these
		stuck, l.queue = l.queue, nil
	}
	l.mu.Unlock()
	if err != nil {
		l.log.Error("no supervisor", "slot", s.n, "error", err)
	}
	for _, e := range stuck {
		e.failed = err.Error()
		l.settle(e, stopNever)
	}
}

// manned says whether any supervisor lives. The caller holds l.mu.
func (l *Local) manned() bool {
	for _, s := range append(slices.Clone(l.slots), l.extra...) {
		if s.cmd != nil {
			return true
		}
	}
	return false
}

// heard takes one line of news: "run PID NANOSECONDS", "end" or "fail REASON", of what was handed over last.
func (l *Local) heard(s *slot, line string) {
	what, rest, _ := strings.Cut(line, " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	e := s.cur
	if e == nil {
		return
	}
	switch what {
	case "run":
		first, second, _ := strings.Cut(rest, " ")
		pid, _ := strconv.Atoi(first)
		nanos, _ := strconv.ParseInt(second, 10, 64)
		e.status = Status{Phase: Running, PID: pid, Started: time.Unix(0, nanos), GPUs: e.gpus()}
		close(e.running)
		l.proven(e)
		return
	case "left":
		uuid, why, _ := strings.Cut(rest, " ")
		l.shun(uuid, why, false)
		l.log.Warn("GPU not free", "job", e.id, "gpu", uuid, "why", why)
		return
	case "busy", "broken":
		if l.closed { // nothing is started any more: its end comes with that of its supervisor
			return
		}
		s.cur = nil
		l.refused(e, what, rest)
		if err := l.dispatch(); err != nil {
			l.log.Error("no supervisor", "slot", s.n, "error", err)
		}
		return
	case "end":
		l.proven(e)
	case "fail":
		e.failed = rest
		l.log.Error("job not started", "job", e.id, "error", e.failed)
	}
	s.cur = nil
	l.unassign(e)
	delete(l.known, e.id)
	close(e.done)
	if err := l.dispatch(); err != nil {
		l.log.Error("no supervisor", "slot", s.n, "error", err)
	}
}

// settle ends the news of a job that is in no supervisor's hands any more. If it never ran, that is final: why goes
// into its files.
func (l *Local) settle(e *entry, why string) {
	_, err := e.dir.takeOut(why)
	if err != nil {
		l.log.Warn("job not settled", "job", e.id, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unassign(e)
	delete(l.known, e.id)
	close(e.done)
}

// gpus are those that the job was given.
func (e *entry) gpus() []GPU {
	if e.order.GPU == nil {
		return nil
	}
	return e.order.GPU.GPUs
}

// takeOut makes a job that does not run one that never will. False: it runs, or ran.
func (d jobDir) takeOut(why string) (bool, error) {
	lock, err := d.lock(false)
	if err != nil {
		if err == errHeld {
			return false, nil
		}
		return false, err
	}
	defer syscall.Close(lock)
	if _, ok := d.readOwner(); ok {
		return false, nil
	}
	if _, ok := d.readRecord(); ok {
		return false, nil
	}
	return true, d.bury(why)
}
