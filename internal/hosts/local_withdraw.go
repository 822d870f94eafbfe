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
	if l.drop(id, reason) {
		return true, nil
	}
	taken, err = d.takeOut(reason)
	if l.drop(id, reason) { // its supervisor gave it back meanwhile
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdraw job %s: %w", id, diskFull(err))
	}
	return taken, nil
}
