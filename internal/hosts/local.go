package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// The directories beside the job directories of a host.
const (
	dirJobs        = "jobs"
	dirTrash       = "trash"
	dirSpare       = "spare"
	dirControllers = "controllers"
	dirCheckpoints = "checkpoints"
	dirSetup       = "setup"
)

// ErrDiskFull is the error of a host that has no room.
var ErrDiskFull = errors.New("disk full")

// LocalConfig says how this machine takes jobs.
type LocalConfig struct {
	Name    string
	Workdir string // jobs lie beneath it, by host: a home directory is often shared
	Slots   int    // jobs without GPUs that run at once; at least 1
	// GPUs are those that serve. LeaseDir is where all users of the machine keep the leases of GPUs; default
	// /tmp/xrun-leases-v1. GPUPause is the longest that a GPU which was busy is left alone; default 30 s.
	GPUs     GPUChoice
	LeaseDir string
	GPUPause time.Duration
	// Env is NAME=value for every job, after the prelude and before the job's own.
	Env []string
	// Shell runs the jobs' scripts; default sh.
	Shell string
	// Prelude is lines of that shell, before each job's command.
	Prelude []string
	// Supervisor is the command that calls Supervise, such as /proc/self/exe supervise.
	Supervisor []string
	Log        hclog.Logger
}

// A Local is this machine as a host. Its jobs run under supervisors, processes of their own: they go on when this one
// ends, and another Local with the same Workdir adopts them.
type Local struct {
	cfg   LocalConfig
	log   hclog.Logger
	shell string
	home  string // Workdir/<host id>
	id    string // of this controller among those that share home

	controller int // descriptor; its lock says that we live
	stderr     *os.File

	mu     sync.Mutex // guards what follows; held for no longer than a write to a pipe or the start of a process takes
	closed bool
	slots  []*slot
	extra  []*slot // for jobs with GPUs, as many as there were at once
	queue  []*entry
	known  map[string]*entry // jobs of ours until they end
	ports  map[int]bool      // given out lately
	given  []int             // the same, oldest first
	spare  []string          // directories ready to be used again

	stock   inventory
	work    sync.WaitGroup // readers of news, and the deleter
	trash   chan struct{}  // there is something to delete
	closing chan struct{}  // closed by Close
}

// NewLocal prepares this machine. It starts no process before there is a job.
func NewLocal(cfg LocalConfig) (*Local, error) {
	l := &Local{
		cfg: cfg, log: cfg.Log, controller: -1,
		known: make(map[string]*entry), ports: make(map[int]bool), trash: make(chan struct{}, 1),
		closing: make(chan struct{}),
	}
	if l.log == nil {
		l.log = hclog.NewNullLogger()
	}
	if cfg.Slots < 1 || len(cfg.Supervisor) == 0 {
		return nil, fmt.Errorf("host %s: needs slots and a supervisor", cfg.Name)
	}
	shell := cfg.Shell
	if shell == "" {
		shell = "sh"
	}
	var err error
	if l.shell, err = exec.LookPath(shell); err != nil {
		return nil, fmt.Errorf("host %s: %w", cfg.Name, err)
	}
	if l.shell, err = filepath.Abs(l.shell); err != nil {
		return nil, err
	}
	if _, err := envScript(cfg.Env); err != nil {
		return nil, fmt.Errorf("host %s: %w", cfg.Name, err)
	}
	if err := l.settleIn(); err != nil {
		return nil, fmt.Errorf("host %s: %w", cfg.Name, diskFull(err))
	}
	for n := range cfg.Slots {
		l.slots = append(l.slots, &slot{n: n})
	}
	l.work.Go(l.deleter)
	l.trash <- struct{}{} // an earlier one may have left some
	return l, nil
}

// settleIn makes the directories and says, by a lock, that this controller lives.
func (l *Local) settleIn() error {
	if err := os.MkdirAll(l.cfg.Workdir, 0o700); err != nil {
		return err
	}
	// One job has one name, whatever links lead to it: the marker is compared byte by byte.
	work, err := filepath.EvalSymlinks(l.cfg.Workdir)
	if err != nil {
		return err
	}
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	l.cfg.Workdir = work
	l.home = filepath.Join(work, hostID())
	for _, d := range []string{dirJobs, dirTrash, dirSpare, dirControllers} {
		if err := os.MkdirAll(filepath.Join(l.home, d), 0o700); err != nil {
			return err
		}
	}
	spare, _ := os.ReadDir(filepath.Join(l.home, dirSpare))
	for _, s := range spare {
		l.addSpare(s.Name())
	}
	l.sweepControllers()
	if err := l.signOn(); err != nil {
		return err
	}
	l.stderr, err = os.OpenFile(filepath.Join(l.home, "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// signOn makes this controller's file and locks it. Between the two another one may sweep it away: then again.
func (l *Local) signOn() error {
	for {
		f, err := os.CreateTemp(filepath.Join(l.home, dirControllers), "c")
		if err != nil {
			return err
		}
		_ = f.Close()
		l.id = filepath.Base(f.Name())
		fd, err := open(f.Name(), unix.O_RDWR)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_ = flock(fd, unix.LOCK_EX)
		if exists(f.Name()) {
			l.controller = fd
			return nil
		}
		_ = unix.Close(fd)
	}
}

// sweepControllers removes what dead controllers left.
func (l *Local) sweepControllers() {
	dir := filepath.Join(l.home, dirControllers)
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if !controllerLives(l.home, n.Name()) {
			_ = os.Remove(filepath.Join(dir, n.Name()))
		}
	}
}

// controllerLives says whether the controller with that name still has its queue.
func controllerLives(home, name string) bool {
	if name == "" || validID(name) != nil {
		return false
	}
	fd, err := open(filepath.Join(home, dirControllers, name), unix.O_RDWR)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return errors.Is(flock(fd, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// hostID names this machine, so that a home directory which several share keeps their jobs apart. Without a machine id
// the name of the machine has to do.
func hostID() string {
	id := machineID()
	if id == "" {
		id, _ = os.Hostname()
	}
	sum := sha256.Sum256([]byte("xrun host " + id)) // the id itself is not for others to see
	return hex.EncodeToString(sum[:6])
}

// Close lets the supervisors go: they finish what runs, start nothing that is queued, and exit. It waits for those that
// are idle and for the deletion of what was discarded, or until ctx ends.
func (l *Local) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	queue := l.queue
	l.queue = nil
	for _, s := range append(slices.Clone(l.slots), l.extra...) {
		s.release()
	}
	if l.stock.wake != nil {
		l.stock.wake.Stop()
	}
	l.mu.Unlock()
	for _, e := range queue {
		l.settle(e, stopNever)
	}
	close(l.closing)
	close(l.trash)
	done := make(chan struct{})
	go func() { // ends when everything we started has
		l.work.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("close host %s: %w", l.cfg.Name, ctx.Err())
	}
	_ = l.stderr.Close()
	_ = os.Remove(filepath.Join(l.home, dirControllers, l.id))
	return errors.Join(err, unix.Close(l.controller))
}

// Capacity is how many jobs this machine takes altogether: one for each slot, and as many again that wait for one.
func (l *Local) Capacity(ctx context.Context) (Capacity, error) {
	c := Capacity{Slots: l.cfg.Slots, Ahead: l.cfg.Slots, CPUs: runtime.NumCPU(), Memory: totalMemory()}
	var fs unix.Statfs_t
	if unix.Statfs(l.home, &fs) == nil {
		c.Disk = int64(fs.Bavail) * int64(fs.Bsize)
	}
	if err := l.takeStock(ctx); err != nil {
		return Capacity{}, err
	}
	c.GPUs, c.Note = l.gpuInfos(), l.stock.note
	return c, ctx.Err()
}

// Place says where a job lies, or would lie. Each call finds another port.
func (l *Local) Place(_ context.Context, id string) (Place, error) {
	if err := validID(id); err != nil {
		return Place{}, err
	}
	p := l.dir(id).place()
	for range 100 {
		port, err := freePort()
		if err != nil {
			return Place{}, fmt.Errorf("find a free port: %w", err)
		}
		l.mu.Lock()
		taken := l.ports[port]
		if !taken {
			l.remember(port)
		}
		l.mu.Unlock()
		if !taken {
			p.Port = port
			return p, nil
		}
	}
	return Place{}, fmt.Errorf("find a free port: all were given away")
}

// recentPorts is how many ports are kept apart: more than any machine has slots, so that a job's port is its own until it
// has opened it, and few enough that the kernel always has another.
const recentPorts = 4096

func (l *Local) remember(port int) {
	l.ports[port] = true
	l.given = append(l.given, port)
	if len(l.given) > recentPorts {
		delete(l.ports, l.given[0])
		l.given = l.given[1:]
	}
}

// freePort asks the kernel. Bound, never listening: nobody can connect meanwhile.
func freePort() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
		return 0, err
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return sa.(*unix.SockaddrInet4).Port, nil
}

func (l *Local) dir(id string) jobDir {
	return jobDir(l.home + "/" + dirJobs + "/" + id)
}

// elsewhere names another machine that has the job, where several share a Workdir. What it does is unknown here.
func (l *Local) elsewhere(id string) error {
	hosts, _ := os.ReadDir(l.cfg.Workdir)
	for _, h := range hosts {
		other := filepath.Join(l.cfg.Workdir, h.Name())
		if _, err := os.Lstat(filepath.Join(other, dirJobs, id)); err == nil && other != l.home {
			return fmt.Errorf("job %s is on the machine %s, this is %s: %w", id, h.Name(), filepath.Base(l.home), ErrUnreachable)
		}
	}
	return nil
}

// noRoom reports whether hardly anything fits on the disk of dir.
func noRoom(dir string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false
	}
	return fs.Blocks > 0 && uint64(fs.Bavail)*uint64(fs.Bsize) < 64<<10 || fs.Files > 0 && fs.Ffree == 0
}

// diskFull makes the error of a full disk one that can be told.
func diskFull(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}
