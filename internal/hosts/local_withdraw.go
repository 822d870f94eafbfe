package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Withdraw takes a job that waits out of the queue: it never runs, and ends as stopped. One that runs, or ran, is left
// alone: taken is false.
func (l *Local) Withdraw(ctx context.Context, id, reason string) (taken bool, err error) {
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
	for {
		taken, err = d.takeOut(reason)
		if l.drop(id, reason) { // its supervisor gave it back meanwhile
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("withdraw job %s: %w", id, diskFull(err))
		}
		_, ran := d.readOwner()
		_, ended := d.readExit()
		if taken || ran || ended {
			return taken, nil
		}
		select { // its supervisor has it, and has not decided yet: its GPUs may be busy
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
