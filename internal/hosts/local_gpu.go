package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultLeaseDir = "/tmp/xrun-leases-v1"
	// A GPU that was busy is left alone for firstGPUPause, then for twice as long each time, up to defaultGPUPause.
	firstGPUPause   = time.Second
	defaultGPUPause = 30 * time.Second
)

// A localGPU is a GPU as this controller sees it.
type localGPU struct {
	GPUInfo
	jobs   []*entry  // of ours that have it, or are about to
	until  time.Time // it was busy, and is looked at again then
	pause  time.Duration
	broken string // why it is of no use any more; "" if it is
}

// An inventory is what GPUs this machine has.
type inventory struct {
	once sync.Once
	smi  *smi
	gpus []*localGPU // guarded by Local.mu once they are there
	note string
	err  error
	wake *time.Timer
}

// takeStock finds the GPUs, once.
func (l *Local) takeStock(ctx context.Context) error {
	l.stock.once.Do(func() { l.stock.err = l.findGPUs(ctx) })
	return l.stock.err
}

// findGPUs asks the machine. What is declared has to be there; of a machine that may have some, it is noted why not.
func (l *Local) findGPUs(ctx context.Context) error {
	if l.cfg.GPUs.none() {
		return nil
	}
	found, err := l.listGPUs(ctx)
	if err == nil {
		err = l.checkLeases()
	}
	if err != nil && l.cfg.GPUs.Auto {
		l.stock.note = err.Error()
		return nil
	}
	if errors.Is(err, errNoGPU) { // said with what is declared
		found = nil
	} else if err != nil {
		return fmt.Errorf("host %s: its GPUs: %w", l.cfg.Name, err)
	}
	chosen, err := l.cfg.GPUs.pick(found)
	if err != nil {
		return fmt.Errorf("host %s: %w", l.cfg.Name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range chosen {
		l.stock.gpus = append(l.stock.gpus, &localGPU{GPUInfo: g})
	}
	for _, g := range chosen {
		if g.State == GPUBusy {
			l.shun(g.UUID, g.Why, false)
		}
	}
	return nil
}

// listGPUs are those that we may use: never more than whoever started us was given.
func (l *Local) listGPUs(ctx context.Context) ([]GPUInfo, error) {
	s, err := findSMI()
	if err != nil {
		return nil, err
	}
	if s.path, err = filepath.Abs(s.path); err != nil {
		return nil, err
	}
	now, err := s.look(ctx, true)
	if err != nil {
		return nil, err
	}
	l.stock.smi = s
	for _, line := range now.odd {
		l.log.Warn("nvidia-smi says something that is no GPU", "line", line)
	}
	found := now.infos()
	if list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		found = visible(found, list)
	}
	return found, nil
}

// checkLeases sees whether leases can be had here at all.
func (l *Local) checkLeases() error {
	if l.cfg.LeaseDir == "" {
		l.cfg.LeaseDir = defaultLeaseDir
	}
	d, err := openLeaseDir(l.cfg.LeaseDir)
	if err != nil {
		return fmt.Errorf("lease_dir: %w", err)
	}
	defer func() { _ = d.close() }()
	if err := flock(d.fd, unix.LOCK_SH|unix.LOCK_NB); err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		l.stock.note = fmt.Sprintf("no locks in lease_dir %s (%v): its GPUs are kept apart for this controller only", l.cfg.LeaseDir, err)
	}
	return nil
}

// gpuInfos is how the GPUs stand now.
func (l *Local) gpuInfos() []GPUInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []GPUInfo
	for _, g := range l.stock.gpus {
		out = append(out, g.GPUInfo)
	}
	return out
}

// promise refuses a job that could never run here.
func (l *Local) promise(ctx context.Context, n *GPUNeed) error {
	if n == nil {
		return nil
	}
	if n.Count < 1 {
		return fmt.Errorf("%d GPUs are asked for", n.Count)
	}
	if err := l.takeStock(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stock.hopeless(*n)
}

// hopeless says why a need will never be met; nil if it may be.
func (s *inventory) hopeless(n GPUNeed) error {
	var whys []string
	fit := 0
	for _, g := range s.gpus {
		switch {
		case !n.Meets(g.GPUInfo):
		case g.broken != "":
			whys = append(whys, g.Name()+": "+g.broken)
		case g.State == GPUUnknown:
			whys = append(whys, g.Name()+": "+g.Why)
		default:
			fit++
		}
	}
	if fit >= n.Count {
		return nil
	}
	if len(whys) == 0 && s.note != "" {
		whys = []string{s.note}
	}
	err := fmt.Errorf("%d GPUs are needed, %d are of use", n.Count, fit)
	if len(whys) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(whys, "; "))
	}
	return err
}

// choose picks GPUs for a job: all of one model if there are enough, those that waste least first, of equal ones the least
// used. nil: not now. What an earlier job waits for is not taken away from it.
func (s *inventory) choose(e *entry, now time.Time, reserved map[*localGPU]bool) []*localGPU {
	models := map[string][]*localGPU{}
	var all []*localGPU
	for _, g := range s.gpus {
		if g.usable(e.need) && g.room(e.need) && !now.Before(g.until) && !reserved[g] {
			models[g.Model] = append(models[g.Model], g)
			all = append(all, g)
		}
	}
	if len(all) < e.need.Count {
		return nil
	}
	best := least(all, e.need.Count)
	if len(models) > 1 && e.need.Count > 1 {
		found := false
		for _, m := range slices.Sorted(maps.Keys(models)) {
			if len(models[m]) < e.need.Count {
				continue
			}
			if some := least(models[m], e.need.Count); !found || byWaste(some[0], best[0]) < 0 {
				best, found = some, true
			}
		}
	}
	return best
}

func least(gpus []*localGPU, n int) []*localGPU {
	slices.SortStableFunc(gpus, byWaste)
	return gpus[:n]
}

// byWaste orders GPUs: little memory first, unknown last.
func byWaste(a, b *localGPU) int {
	memory := func(g *localGPU) int64 {
		if g.MemoryMB == 0 {
			return 1 << 62
		}
		return g.MemoryMB
	}
	return cmp.Or(cmp.Compare(memory(a), memory(b)), strings.Compare(a.Model, b.Model), len(a.jobs)-len(b.jobs), a.Index-b.Index)
}

// usable: it could be given to a job with the need, if it were free.
func (g *localGPU) usable(n *GPUNeed) bool {
	return n.Meets(g.GPUInfo) && g.broken == "" && g.State != GPUUnknown
}

// room: none of ours has it, or all of them share it and there is room for one more.
func (g *localGPU) room(n *GPUNeed) bool {
	if len(g.jobs) == 0 {
		return true
	}
	most := n.PerGPU
	for _, e := range g.jobs {
		most = min(most, e.need.PerGPU)
	}
	return most > 1 && len(g.jobs) < most
}

// reserve keeps for a job that waits what it could have if those of ours that run were over: else a job that needs many
// would wait for ever behind small ones. A GPU that others use is not worth waiting for.
func (s *inventory) reserve(e *entry, now time.Time, reserved map[*localGPU]bool) {
	var could []*localGPU
	for _, g := range s.gpus {
		if g.usable(e.need) && !now.Before(g.until) && !reserved[g] {
			could = append(could, g)
		}
	}
	if len(could) < e.need.Count {
		return
	}
	for _, g := range could {
		reserved[g] = true
	}
}

// assign notes that a job is to have GPUs, and puts them into its order.
func (l *Local) assign(e *entry, gpus []*localGPU) {
	o := &gpuOrder{LeaseDir: []byte(l.cfg.LeaseDir), SMI: []byte(l.stock.smi.path)}
	if e.need.shares() {
		o.Group = filepath.Join(l.home, dirControllers, l.id)
	}
	for _, g := range gpus {
		g.jobs = append(g.jobs, e)
		o.GPUs = append(o.GPUs, g.GPU)
	}
	e.order.GPU = o
}

// unassign takes a job's GPUs back. The caller holds l.mu.
func (l *Local) unassign(e *entry) {
	for _, g := range l.stock.gpus {
		g.jobs = slices.DeleteFunc(g.jobs, func(x *entry) bool { return x == e })
	}
}

// proven notes that a job's GPUs were free: it has them. The caller holds l.mu.
func (l *Local) proven(e *entry) {
	for _, g := range l.stock.gpus {
		if slices.Contains(g.jobs, e) && !time.Now().Before(g.until) { // else it is known not to be, since
			g.State, g.Why, g.pause = GPUFree, "", 0
		}
	}
}

// shun leaves a GPU alone for a while, or for good. It returns what to say of it. The caller holds l.mu.
func (l *Local) shun(uuid, why string, broken bool) string {
	i := slices.IndexFunc(l.stock.gpus, func(g *localGPU) bool { return g.UUID == uuid })
	if i < 0 {
		return why
	}
	g := l.stock.gpus[i]
	g.State, g.Why = GPUBusy, why
	if broken {
		g.State, g.broken = GPUUnknown, why
		return g.Name() + ": " + why
	}
	most := l.cfg.GPUPause
	if most <= 0 {
		most = defaultGPUPause
	}
	g.pause = min(max(firstGPUPause, 2*g.pause), most)
	g.until = time.Now().Add(g.pause)
	if l.stock.wake != nil {
		l.stock.wake.Stop()
	}
	l.stock.wake = time.AfterFunc(l.nextLook(), l.lookAgain)
	return g.Name() + ": " + why
}

// nextLook is how long until the first of the GPUs that are left alone may be tried again. The caller holds l.mu.
func (l *Local) nextLook() time.Duration {
	first := time.Hour
	for _, g := range l.stock.gpus {
		if d := time.Until(g.until); d > 0 {
			first = min(first, d)
		}
	}
	return first + time.Millisecond
}

// lookAgain hands out what waits for a GPU.
func (l *Local) lookAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.dispatch(); err != nil {
		l.log.Error("no supervisor", "error", err)
	}
	if !l.closed && len(l.queue) > 0 {
		l.stock.wake = time.AfterFunc(l.nextLook(), l.lookAgain)
	}
}

// refused takes a job back whose GPU could not be had: it waits for another, or for that one. The caller holds l.mu.
func (l *Local) refused(e *entry, what, rest string) {
	uuid, why, _ := strings.Cut(rest, " ")
	l.unassign(e)
	e.why = l.shun(uuid, why, what == "broken")
	l.log.Info("GPU not to be had", "job", e.id, "gpu", uuid, "why", why)
	if _, ended := e.dir.readExit(); ended { // it was stopped while it waited
		l.giveUp(e, nil)
		return
	}
	l.queue = append([]*entry{e}, l.queue...)
	if what == "broken" {
		l.queue = slices.DeleteFunc(l.queue, func(q *entry) bool {
			if q.need == nil {
				return false
			}
			err := l.stock.hopeless(*q.need)
			if err != nil {
				l.giveUp(q, err)
			}
			return err != nil
		})
	}
}

// giveUp ends the news of a job that will not run: whoever watches it looks at its files. The caller holds l.mu.
func (l *Local) giveUp(e *entry, why error) {
	if why != nil {
		e.failed = why.Error()
	}
	delete(l.known, e.id)
	close(e.done)
}
