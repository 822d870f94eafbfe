package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// leaseDescriptor is the first of a job's descriptors that hold its leases: far from those that programs choose.
	leaseDescriptor = 20
	// clearFor is how long the memory of a GPU has to become free when its job is over.
	clearFor   = 5 * time.Second
	clearEvery = 300 * time.Millisecond
	// The GPUs of a job are looked at soon after its start, and then now and then.
	firstSample = 2 * time.Second
	sampleEvery = 30 * time.Second
)

// A gpuOrder are the GPUs that a job is to get: all of these, or it does not start.
type gpuOrder struct {
	GPUs     []GPU
	Group    string // of the controller's jobs that share them; "" alone
	LeaseDir []byte
	SMI      []byte // the program
}

// A grip is the leases of a job in the hands of its supervisor.
type grip struct {
	gpuOrder
	smi    *smi
	dir    jobDir
	leases []*lease
	record gpuRecord

	next     *time.Timer // until the next sample
	sampled  chan look   // one look's result
	cancel   func()      // of the look under way; nil: none is
	lostOnce bool
}

// grip takes the leases of a job and proves its GPUs free. A *busyError or *brokenError names the GPU that cannot be had;
// nothing is held then.
func (s *supervisor) grip(o order) (*grip, error) {
	g := &grip{gpuOrder: *o.GPU, smi: &smi{path: string(o.GPU.SMI)}, dir: o.dir}
	dir, err := openLeaseDir(string(o.GPU.LeaseDir))
	if err != nil {
		return nil, &brokenError{g.GPUs[0].UUID, fmt.Sprintf("the directory of leases: %v", err)}
	}
	defer func() { _ = dir.close() }()
	h := holder{Marker: string(o.dir), Group: g.Group, PID: s.self.pid, Start: s.self.start, Boot: s.self.boot, User: whoami()}
	byUUID := slices.SortedFunc(slices.Values(g.GPUs), func(a, b GPU) int { return strings.Compare(a.UUID, b.UUID) })
	for _, gpu := range byUUID { // in one order everywhere: two that want the same ones do not take half each
		l, err := dir.take(gpu.UUID, h)
		if err != nil {
			g.release()
			return nil, err
		}
		g.leases = append(g.leases, l)
	}
	if err := g.prove(); err != nil {
		g.release()
		return nil, err
	}
	g.record = gpuRecord{GPUs: g.GPUs}
	for _, l := range g.leases {
		if link := l.link(); link != "" {
			g.record.Links = append(g.record.Links, link)
		}
		if l.weak {
			fmt.Fprintf(s.err, "%s: no locks in %s: the GPUs are ours only as far as other controllers are on this kernel\n", o.dir, o.GPU.LeaseDir)
		}
	}
	if err := o.dir.writeGPUs(g.record); err != nil {
		g.release()
		return nil, err
	}
	return g, nil
}

// prove looks at the GPUs now that their leases are ours.
func (g *grip) prove() error {
	now, err := g.look(context.Background())
	for _, l := range g.leases {
		if err != nil {
			return &busyError{l.uuid, err.Error()}
		}
		if why := now.occupied(l.uuid, l.joined, g.allowed); why != "" {
			return &busyError{l.uuid, why}
		}
	}
	return nil
}

func (g *grip) look(ctx context.Context) (look, error) {
	mig := slices.ContainsFunc(g.GPUs, func(g GPU) bool { return strings.HasPrefix(g.UUID, "MIG-") })
	return g.smi.look(ctx, mig)
}

// allowed reports whether a process is of a job that shares the GPU with ours.
func (g *grip) allowed(pid int) bool {
	if g.Group == "" {
		return false
	}
	marker, ok := markerOf(pid)
	return ok && filepath.Dir(marker) == filepath.Dir(string(g.dir))
}

func (g *grip) release() {
	for _, l := range g.leases {
		l.release()
	}
	g.leases = nil
}

// env is the variable that shows the job its GPUs.
func (g *grip) env() string {
	var uuids []string
	for _, gpu := range g.GPUs {
		uuids = append(uuids, gpu.UUID)
	}
	return "CUDA_VISIBLE_DEVICES=" + strings.Join(uuids, ",")
}

// lend adds the descriptors of the leases to those of a process that is started.
func (g *grip) lend(files []uintptr) []uintptr {
	if g == nil {
		return files
	}
	var leases []int
	for _, l := range g.leases {
		leases = append(leases, l.file)
		if l.announce >= 0 {
			leases = append(leases, l.announce)
		}
	}
	return lend(files, leases)
}

// lend adds descriptors to those of a process that is started, from leaseDescriptor on.
func lend(files []uintptr, more []int) []uintptr {
	for len(more) > 0 && len(files) < leaseDescriptor {
		files = append(files, ^uintptr(0))
	}
	for _, fd := range more {
		files = append(files, uintptr(fd))
	}
	return files
}

// showGPUs makes the variables that the job's scripts read end with ours.
func (r *run) showGPUs(envs map[string]int) error {
	if r.grip == nil {
		return nil
	}
	for step, env := range envs {
		if step == stepCommand && r.direct() {
			continue
		}
		fd, err := r.withGPUs(env)
		envs[step] = fd
		if err != nil {
			return err
		}
	}
	return nil
}

// withGPUs makes a list of variables that a script reads end with ours: nothing that it reads is later. The list that it was
// given is closed, whatever comes of it.
func (r *run) withGPUs(env int) (int, error) {
	if r.grip == nil {
		return env, nil
	}
	var text []byte
	if env >= 0 {
		var err error
		text, err = readDescriptor(env)
		if err = errors.Join(err, unix.Close(env)); err != nil {
			return -1, err
		}
	}
	last, err := envScript([]string{r.grip.env()})
	if err != nil {
		return -1, err
	}
	return r.nameless(append(text, last...))
}

func readDescriptor(fd int) ([]byte, error) {
	var text []byte
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Read(fd, buf)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
		if n == 0 && err == nil {
			return text, nil
		}
		text = append(text, buf[:max(n, 0)]...)
	}
}

// giveBack looks whether the GPUs of a job that is over are free again, for as long as that may take, and tells of those
// that are not. Then the leases are let go.
func (s *supervisor) giveBack(g *grip) {
	defer g.release()
	if s.spent {
		return // whoever waits for the job's children would wait for what looks, too
	}
	deadline := time.Now().Add(clearFor)
	for {
		now, err := g.look(context.Background())
		left, wait := map[string]string{}, false
		for _, l := range g.leases {
			why := ""
			if err != nil {
				why = err.Error()
			} else {
				why = now.occupied(l.uuid, g.Group != "", g.allowed)
			}
			if why != "" {
				left[l.uuid] = why
				wait = wait || err == nil && !now.lost(l.uuid)
			}
		}
		if wait && time.Now().Before(deadline) {
			time.Sleep(clearEvery)
			continue
		}
		for _, l := range g.leases {
			if why := left[l.uuid]; why != "" {
				s.tell("left %s after its job: %s", l.uuid, why)
			}
		}
		return
	}
}

// fellOff reports whether one of the GPUs is not there any more: it explains a job that failed.
func (g *grip) fellOff() bool {
	now, err := g.look(context.Background())
	if err != nil {
		return errors.Is(err, errGPULost) || errors.Is(err, errNoGPU)
	}
	return slices.ContainsFunc(g.GPUs, func(gpu GPU) bool { return now.lost(gpu.UUID) })
}

// sampler rings when the GPUs are to be looked at; never if there are none.
func (r *run) sampler() <-chan time.Time {
	if r.grip == nil {
		return nil
	}
	if r.grip.next == nil {
		r.grip.next = time.NewTimer(firstSample)
	}
	return r.grip.next.C
}

// looked is where the result of a look comes from.
func (r *run) looked() <-chan look {
	if r.grip == nil || r.grip.cancel == nil {
		return nil
	}
	return r.grip.sampled
}

// onlyLooked: all that is left of the children is what looks at the GPUs. It is ended, and no part of the job; if it
// does not end, the supervisor does after this job.
func (r *run) onlyLooked() bool {
	r.killing = false
	if r.alone || r.grip == nil || r.grip.cancel == nil || r.crew.signal(0) > 0 {
		return false
	}
	r.grip.stopSampling()
	r.killing, r.deadline = true, time.Now()
	return true
}

// sample begins to look at the GPUs, unless a look is under way.
func (r *run) sample() {
	g := r.grip
	g.next.Reset(sampleEvery)
	if g.cancel != nil || r.over || r.stopping {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	out := make(chan look, 1)
	g.sampled = out
	go func() { // ends with ctx, at the latest when a look is over
		now, err := g.look(ctx)
		if err != nil {
			now = look{none: errors.Is(err, errNoGPU)}
		}
		out <- now
	}()
}

// learn takes what a look saw. A GPU that is gone twice is gone.
func (r *run) learn(now look) {
	g := r.grip
	g.cancel()
	g.cancel = nil
	if len(now.gpus) == 0 && !now.none { // no answer is no answer
		return
	}
	gone := false
	for _, gpu := range g.GPUs {
		row, _ := now.row(gpu.UUID)
		if now.lost(gpu.UUID) {
			gone = true
			continue
		}
		used := row.used
		if g.Group != "" {
			used = now.usedBy(gpu.UUID, r.crew.pids())
		}
		if used >= 0 && (g.record.PeakMB == nil || used > *g.record.PeakMB) {
			g.record.PeakMB = &used
		}
		if row.util >= 0 {
			g.record.Util += row.util
			g.record.Seen++
		}
	}
	if err := r.dir.writeGPUs(g.record); err != nil {
		fmt.Fprintf(r.s.err, "%s: %v\n", r.dir, err)
	}
	if gone && g.lostOnce {
		r.end(stopGPULost)
	}
	if g.lostOnce = gone; gone {
		g.next.Reset(firstSample)
	}
}

// usedBy is the memory that some processes use of a GPU; below 0 if that is not known.
func (l look) usedBy(uuid string, pids map[int]bool) float64 {
	sum, known := 0.0, false
	for _, a := range l.apps {
		if a.uuid == uuid && pids[a.pid] && a.mb >= 0 {
			sum, known = sum+a.mb, true
		}
	}
	if !known {
		return -1
	}
	return sum
}

// stopSampling ends a look that is under way.
func (g *grip) stopSampling() {
	if g != nil && g.cancel != nil {
		g.cancel()
	}
}

// lookAway ends a look and waits until it has ended.
func (g *grip) lookAway() {
	if g != nil && g.cancel != nil {
		g.cancel()
		<-g.sampled
		g.cancel = nil
	}
}

// whoami is our user on this machine.
func whoami() string {
	name := userName(os.Geteuid())
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
