package hosts

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	beatEvery = 30 * time.Second
	// newsDelay keeps quiet about the start of jobs that are over at once: half the wake-ups of the controller, and half
	// of what it writes to disk. Nobody sees the difference.
	newsDelay     = 25 * time.Millisecond
	shortJob      = 50 * time.Millisecond // until then its orphans may wait
	defaultGrace  = 10 * time.Second
	leftoverGrace = 2 * time.Second
	// killFor bounds how long we wait for what KILL does not end, such as a process in an uninterruptible read.
	killFor    = 10 * time.Second
	pressEvery = 25 * time.Millisecond
)

// A run is a job while its supervisor works on it.
type run struct {
	order
	s        *supervisor
	grip     *grip // of its GPUs; nil: it has none
	log, tmp int   // descriptors
	kept     []int // descriptors that what is started keeps: a lock lasts as long as anything of the step does
	crew     crew
	pidFile  int
	owns     string    // what was written to it
	why      string    // why the job is ended; "" if it is not
	at       string    // the step that failed or was ended; "" is the command
	started  time.Time // monotonic too
	began    time.Time // the step that runs
	limit    time.Duration
	quiet    time.Duration // how long it may be silent
	told     bool          // that it runs
	warns    bool          // with a signal before the limit
	took     time.Duration // the command
	code     int
	over     bool // the first process has ended
	alone    bool // and nothing else that is ours to wait for is left
	asked    bool // the job is to end, whatever would come next
	stopping bool // TERM was sent, to the job or to what a step of it left
	killing  bool // KILL was sent
	deadline time.Time
	size     int64     // of the log
	grewAt   time.Time // when it was last seen to grow
}

// A reaped is what the reaper saw: the first process's end, or that no child is left.
type reaped struct {
	code  int
	over  bool
	alone bool
}

// run runs one job from pid file to exit file. The lock is ours. An error means that nothing was started.
func (s *supervisor) run(o order, g *grip) error {
	r := &run{order: o, s: s, grip: g}
	var err error
	if r.log, err = open(o.dir.file(fileLog), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND); err != nil {
		return err
	}
	defer unix.Close(r.log)
	// The room for the exit file is taken now: a disk that is full by then must not cost the result.
	if r.tmp, err = open(o.dir.file(fileExitTmp), unix.O_WRONLY|unix.O_CREAT); err != nil {
		return err
	}
	defer func() { _ = unix.Close(r.tmp) }() // it may be another one by then
	if err := writeAll(r.tmp, []byte(strings.Repeat(" ", exitTmpPadding))); err != nil {
		return err
	}
	env, err := o.openEnv()
	if err != nil {
		return err
	}
	envs, err := o.stepEnvs()
	if err != nil {
		return errors.Join(err, closeIf(env))
	}
	envs[stepCommand] = env
	defer closeAll(envs)
	mine, err := o.readings()
	if err != nil {
		return err
	}
	if err := r.showGPUs(envs); err != nil {
		return err
	}
	if r.pidFile, err = open(o.dir.file(filePID), unix.O_WRONLY|unix.O_CREAT); err != nil {
		return err
	}
	defer unix.Close(r.pidFile)
	r.started = time.Now()
	me := owner{identity: s.self, started: r.started}
	if err := r.owner(me.line()); err != nil {
		_ = os.Remove(o.dir.file(filePID))
		return err
	}
	r.crew = crew{root: s.self.pid, marker: o.dir}
	if g != nil {
		r.crew.links, r.crew.aside = g.record.Links, g.smi.session
	}
	if o.Setup != nil && !r.setup(envs[stepSetup]) {
		return r.record()
	}
	r.command(envs[stepCommand])
	if o.Evaluate != nil && r.code == 0 && !r.asked {
		r.evaluate(envs[stepEvaluate], mine)
	}
	if g != nil && r.code != 0 && !r.asked && !s.spent && g.fellOff() {
		r.why = stopGPULost
	}
	err = r.record()
	if err == nil && r.code == 0 && !r.asked && len(o.Checkpoint) > 0 {
		_ = removeAll(string(o.Checkpoint)) // gc finds what is left
	}
	return err
}

// command runs what the job is for.
func (r *run) command(env int) {
	r.begin(r.Time, r.Silence)
	r.warns = r.Signal != 0
	defer func() { r.warns = false }()
	main, err := r.spawn(env)
	if err != nil {
		// The shell itself cannot be run: the job has an end like any other that found no program.
		fmt.Fprintf(fdWriter(r.log), "xrun: %s: %v\n", r.Shell, err)
		r.code = 127
		return
	}
	_ = r.owner(fmt.Appendf(nil, "%d\n", main))
	r.crew.main = main
	r.follow(main)
}

// begin is for each step: nothing of it has happened yet.
func (r *run) begin(limit, quiet time.Duration) {
	r.over, r.alone, r.stopping, r.killing = false, false, false, false
	r.limit, r.quiet, r.began = limit, quiet, time.Now()
}

type fdWriter int

func (w fdWriter) Write(p []byte) (int, error) { return len(p), writeAll(int(w), p) }

// reap collects every child until none is left. It is the only one that waits.
func reap(main int, out chan<- reaped) {
	awaitEnd(main, shortJob)
	over, code, flags := false, 0, 0
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, flags, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // ECHILD: nobody is left
			out <- reaped{code, over, true}
			return
		case pid == 0: // the first process is over and others live
			out <- reaped{code, over, false}
			flags = 0
		case pid == main:
			over, code, flags = true, exitCode(ws), syscall.WNOHANG
		}
	}
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// follow waits for the end of the job, sees to its limits, and returns when nothing of it is left.
func (r *run) follow(main int) {
	reaper := make(chan reaped, 2)
	go reap(main, reaper) // returns when no child is left; if killFor is over before, with them
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	news := time.NewTimer(newsDelay)
	defer news.Stop()
	var limit, watch <-chan time.Time
	if r.limit > 0 {
		limit = time.After(r.limit)
	}
	var warn <-chan time.Time
	if r.warns && r.limit > r.Ahead {
		warn = time.After(r.limit - r.Ahead)
	}
	if r.quiet > 0 {
		t := time.NewTicker(min(max(r.quiet/8, 5*time.Millisecond), time.Second))
		defer t.Stop()
		watch, r.grewAt = t.C, r.began
	}
	sample := r.sampler()
	tick := time.NewTicker(time.Hour) // only while something is being ended
	defer tick.Stop()
	pressing := false
	r.heed()
	for !r.finished() {
		select {
		case x := <-reaper:
			r.reaped(x)
		case <-r.s.asked:
			r.heed()
		case <-warn:
			r.crew.signal(r.Signal)
		case <-limit:
			r.end(stopTimeout)
		case <-watch:
			r.listen()
		case <-tick.C:
			r.press()
		case <-news.C:
			if !r.told { // of its first step
				r.told = true
				r.s.tell("run %d %d", main, r.started.UnixNano())
			}
		case <-beat.C:
			r.beat()
		case <-sample:
			r.sample()
		case now := <-r.looked():
			r.learn(now)
		}
		if r.stopping && !pressing {
			pressing = true
			tick.Reset(pressEvery)
		}
	}
	r.grip.lookAway()
}

func (r *run) reaped(x reaped) {
	if x.over && !r.over {
		r.over, r.code, r.took = true, x.code, time.Since(r.began)
	}
	r.alone = x.alone
	if !r.stopping && r.onlyLooked() {
		return
	}
	if !r.alone && !r.stopping { // what a job leaves behind ends with it
		r.term(min(r.grace(), leftoverGrace))
	}
}

// finished: no child is left, which proves that nothing is, if we are the one that orphans come to. What was to be
// ended may also be elsewhere, with our marker.
func (r *run) finished() bool {
	if r.killing && time.Now().After(r.deadline.Add(killFor)) {
		fmt.Fprintf(r.s.err, "%s: %d processes do not end\n", r.dir, r.crew.signal(0))
		r.s.spent = true // the reaper still waits for them: it would take the next job's children
		return true
	}
	if !r.over || !r.alone {
		return false
	}
	if r.s.subreaper && !r.stopping {
		return true
	}
	if r.crew.signal(0) == 0 {
		return true
	}
	if !r.stopping {
		r.term(min(r.grace(), leftoverGrace))
	}
	return false
}

func (r *run) grace() time.Duration {
	if r.Grace > 0 {
		return r.Grace
	}
	return defaultGrace
}

// heed looks whether this job is to be stopped. The signal may have been meant for the one before.
func (r *run) heed() {
	if why, err := readSmall(r.dir.file(fileAsk)); err == nil {
		r.end(string(why))
	}
}

// listen ends a job that has been silent for too long.
func (r *run) listen() {
	if size := r.logSize(); size != r.size {
		r.size, r.grewAt = size, time.Now()
	} else if time.Since(r.grewAt) >= r.quiet {
		r.end(stopSilence)
	}
}

func (r *run) logSize() int64 {
	var st unix.Stat_t
	if err := unix.Fstat(r.log, &st); err != nil {
		return 0
	}
	return st.Size
}

// end begins to end the job.
func (r *run) end(why string) {
	if r.over || r.stopping {
		return
	}
	r.asked, r.why = true, why
	r.term(r.grace())
}

func (r *run) term(grace time.Duration) {
	r.grip.stopSampling()
	r.stopping, r.deadline = true, time.Now().Add(grace)
	r.crew.signal(unix.SIGTERM)
	r.crew.signal(unix.SIGCONT) // what is suspended cannot hear TERM
}

// press looks after a job that is being ended: when its grace is over, KILL until nobody is left.
func (r *run) press() {
	if r.stopping && time.Now().After(r.deadline) {
		r.killing = true
		r.crew.signal(unix.SIGKILL)
	}
}

func (r *run) beat() {
	if err := writeSmall(r.dir.file(fileBeat), nil); err == nil {
		now := time.Now()
		_ = os.Chtimes(r.dir.file(fileBeat), now, now)
	}
	if r.grip != nil {
		for _, l := range r.grip.leases {
			l.touch()
		}
	}
}
