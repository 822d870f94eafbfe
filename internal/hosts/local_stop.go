package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Stop ends a job: one that waits never runs; one that runs gets TERM, its grace, KILL, from its supervisor. The first
// reason stands; "timeout" and "silence" make it the end that a limit makes. Of a job that ended, or is not here, there is nothing to stop.
func (l *Local) Stop(ctx context.Context, id, reason string) error {
	if err := validID(id); err != nil {
		return err
	}
	if err := l.stop(ctx, id, reason); err != nil {
		return fmt.Errorf("stop job %s: %w", id, diskFull(err))
	}
	return nil
}

func (l *Local) stop(ctx context.Context, id, reason string) error {
	d := l.dir(id)
	if _, err := os.Lstat(string(d)); errors.Is(err, os.ErrNotExist) {
		return l.elsewhere(id)
	}
	if _, ok := d.readExit(); ok {
		return nil
	}
	if l.drop(id, reason) {
		return nil
	}
	if err := d.ask(reason); err != nil {
		return err
	}
	for {
		out, err := d.takeOut(reason)
		if l.drop(id, reason) { // its supervisor gave it back meanwhile
			return nil
		}
		if out || err != nil {
			return err
		}
		if _, ok := d.readExit(); ok {
			return nil
		}
		o, ok := d.readOwner()
		if ok && o.alive() && d.held() {
			return unix.Kill(o.pid, unix.SIGUSR1)
		}
		if ok && !d.held() {
			if _, ended := d.readExit(); ended {
				return nil
			}
			return d.endRemains(ctx, o) // its supervisor is gone
		}
		select { // the supervisor is between lock and pid file
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// drop takes a job out of the queue, if it is there, and ends it.
func (l *Local) drop(id, reason string) bool {
	l.mu.Lock()
	e := l.known[id]
	waiting := e != nil && l.unqueue(e)
	l.mu.Unlock()
	if waiting {
		l.settle(e, reason)
	}
	return waiting
}

// ask writes why a job is to be stopped. The first to ask is the one that is heard.
func (d jobDir) ask(reason string) error {
	f, err := os.CreateTemp(string(d), fileAsk+".")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(reason)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Link(f.Name(), d.file(fileAsk))
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}
