package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Withdraw takes a job that waits out of the queue: it never runs, and ends as stopped. One that runs, or ran, is left
// alone: taken is false.
func (l *Local) Withdraw(_ context.Context, id, reason string) (taken bool, err error) {
	if err := validID(id); err != nil {
		return false, err
	}
	d := l.dir(id)
	if _, err := os.Lstat(string(d)); errors.Is(err, os.ErrNotExist) {
		return false, l.elsewhere(id)
	}
	l.mu.Lock()
	e := l.known[id]
	waiting := e != nil && l.unqueue(e)
	l.mu.Unlock()
	if waiting {
		l.settle(e, reason)
		return true, nil
	}
	if taken, err = d.takeOut(reason); err != nil {
		return false, fmt.Errorf("withdraw job %s: %w", id, diskFull(err))
	}
	return taken, nil
}
