package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pollFirst = 20 * time.Millisecond
	pollLast  = 200 * time.Millisecond
	logBuffer = 256 << 10
	// remainsGrace is what the processes of a job have whose supervisor was killed.
	remainsGrace = 5 * time.Second
)

var logBuffers = sync.Pool{New: func() any { b := make([]byte, logBuffer); return &b }}

// A watcher follows one job for one Watch.
type watcher struct {
	l    *Local
	dir  jobDir
	id   string
	e    *entry // nil: not ours, or no longer
	why  string // why its supervisor could not start it
	o    Observer
	log  *os.File
	last Phase // what o was told
	wait string
}

// Watch follows a job until it ended, whoever started it. What its supervisor tells comes at once if it is ours;
// otherwise, and for the log, the files are looked at, more rarely while nothing happens.
func (l *Local) Watch(ctx context.Context, id string, o Observer) (Exit, error) {
	if err := validID(id); err != nil {
		return Exit{}, err
	}
	l.mu.Lock()
	w := &watcher{l: l, id: id, dir: l.dir(id), e: l.known[id], o: o}
	l.mu.Unlock()
	defer w.close()
	timer := time.NewTimer(pollFirst)
	defer timer.Stop()
	pause := pollFirst
	for {
		exit, ended, err := w.stand(ctx)
		if ctx.Err() != nil {
			return Exit{}, ctx.Err()
		}
		if err != nil {
			return Exit{}, fmt.Errorf("watch job %s: %w", id, err)
		}
		if ended && !exit.Started.IsZero() { // it may have been too quick for news
			w.tellRan(exit)
		}
		grew, err := w.follow(ctx)
		if ctx.Err() != nil {
			return Exit{}, ctx.Err()
		}
		if err != nil {
			return Exit{}, fmt.Errorf("watch job %s: %w", id, err)
		}
		if ended {
			w.tell(Status{Phase: Ended, Started: exit.Started})
			return exit, nil
		}
		if pause = min(2*pause, pollLast); grew {
			pause = pollFirst
		}
		timer.Reset(pause)
		var running, done <-chan struct{}
		if w.e != nil {
			done = w.e.done
			if w.last != Running {
				running = w.e.running
			}
		}
		select {
		case <-ctx.Done():
			return Exit{}, ctx.Err()
		case <-running:
		case <-done:
		case <-timer.C:
		}
	}
}

// stand finds out where the job stands and tells the observer.
func (w *watcher) stand(ctx context.Context) (Exit, bool, error) {
	if w.e != nil {
		select {
		case <-w.e.done:
			w.why, w.e = w.e.failed, nil
		default:
			w.tellByNews()
			return Exit{}, false, nil
		}
	}
	if exit, ok := w.dir.readExit(); ok {
		if exit.End == NeverStarted {
			exit.Reason = w.why
		}
		return exit, true, nil
	}
	if w.dir.held() {
		w.tellByFiles()
		return Exit{}, false, nil
	}
	if exit, ok := w.dir.readExit(); ok { // it ended between two looks
		return exit, true, nil
	}
	if _, ok := w.dir.readOwner(); ok {
		return w.vanished(ctx)
	}
	return w.unstarted()
}

func (w *watcher) tellByNews() {
	select {
	case <-w.e.running:
		w.tell(w.e.status)
	default:
		w.l.mu.Lock()
		why := w.e.why
		w.l.mu.Unlock()
		w.tell(Status{Phase: Queued, Why: why})
	}
}

func (w *watcher) tellByFiles() {
	if o, ok := w.dir.readOwner(); ok {
		g, _ := w.dir.readGPUs()
		w.tell(Status{Phase: Running, PID: o.main, Started: o.started, GPUs: g.GPUs})
	} else {
		w.tell(Status{Phase: Queued})
	}
}

func (w *watcher) tellRan(exit Exit) {
	if w.last != Running {
		w.tell(Status{Phase: Running, Started: exit.Started, GPUs: exit.GPUs, Over: true})
	}
}

// tell passes a phase on once, and what a job waits for each time that it is something else.
func (w *watcher) tell(s Status) {
	if s.Phase != w.last || s.Why != "" && s.Why != w.wait {
		w.last, w.wait = s.Phase, s.Why
		w.o.Status(s)
	}
}

// unstarted judges a job without supervisor and pid file: it waits in a living controller's queue, or never will run.
func (w *watcher) unstarted() (Exit, bool, error) {
	script, err := readSmall(w.dir.file(fileJob))
	if _, serr := os.Lstat(string(w.dir)); errors.Is(serr, os.ErrNotExist) {
		if err := w.l.elsewhere(w.id); err != nil {
			return Exit{}, false, err
		}
		return Exit{End: NeverStarted, Code: -1, Reason: "there is no such job here"}, true, nil
	}
	if err == nil {
		if c := controllerOf(script); c != w.l.id && controllerLives(w.l.home, c) {
			w.tell(Status{Phase: Queued})
			return Exit{}, false, nil
		}
	}
	out, err := w.dir.takeOut(stopNever)
	if err != nil && w.why == "" {
		return Exit{}, false, diskFull(err)
	}
	if !out && w.why == "" {
		return Exit{}, false, nil // somebody was quicker: look again
	}
	return Exit{End: NeverStarted, Code: -1, Reason: w.why, DiskFull: w.dir.isFull()}, true, nil
}

// vanished judges a job that was started, has no supervisor and no exit file. That cannot change any more, but what it
// left running must not go on unseen.
func (w *watcher) vanished(ctx context.Context) (Exit, bool, error) {
	o, _ := w.dir.readOwner()
	exit := Exit{End: Vanished, Code: -1, Started: o.started, Reason: "killed from outside (memory? logout policy?)"}
	if o.boot != bootID() && o.boot != "" {
		exit.Reason = "the machine was rebooted"
	} else if err := w.dir.endRemains(ctx, o); err != nil {
		return Exit{}, false, err
	}
	w.dir.addGPUs(&exit)
	if e, ok := w.dir.readExit(); ok { // a file system may have been slow to show it
		return e, true, nil
	}
	var st unix.Stat_t
	if unix.Stat(w.dir.file(fileLog), &st) == nil {
		exit.LogBytes = st.Size
		last := time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)) // both are smaller on some systems
		exit.Duration = max(0, last.Sub(o.started))
	}
	return exit, true, nil
}

// endRemains ends what carries the marker of a job without supervisor.
func (d jobDir) endRemains(ctx context.Context, o owner) error {
	g, _ := d.readGPUs()
	c := crew{main: o.main, marker: d, links: g.Links}
	if c.signal(unix.SIGTERM) == 0 {
		return nil
	}
	c.signal(unix.SIGCONT)
	began := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		sig := unix.Signal(0)
		if time.Since(began) > remainsGrace {
			sig = unix.SIGKILL
		}
		if c.signal(sig) == 0 || time.Since(began) > remainsGrace+killFor {
			return nil
		}
	}
}

// follow passes on what the log has got since, and says whether that was anything.
func (w *watcher) follow(ctx context.Context) (grew bool, err error) {
	if w.log == nil {
		w.log, err = openRegular(w.dir.file(fileLog))
		if w.log == nil || err != nil {
			return false, err
		}
	}
	buf := logBuffers.Get().(*[]byte)
	defer logBuffers.Put(buf)
	for ctx.Err() == nil { // a job may write faster than it can be read
		n, err := w.log.Read(*buf)
		if n > 0 {
			grew = true
			w.o.Log((*buf)[:n])
		}
		if errors.Is(err, io.EOF) {
			return grew, nil
		}
		if err != nil {
			return grew, err
		}
	}
	return grew, ctx.Err()
}

// openRegular opens a file that a job may have replaced by a pipe, which is waited for for ever, or a link; nil if there
// is no file.
func openRegular(path string) (*os.File, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if errors.Is(err, unix.EACCES) && regular(path) && os.Chmod(path, 0o600) == nil {
		fd, err = open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

func regular(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular()
}

func (w *watcher) close() {
	if w.log != nil {
		_ = w.log.Close()
	}
}
