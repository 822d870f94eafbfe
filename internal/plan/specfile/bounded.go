package specfile

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// defaultMemory is what an evaluation may use: a thousand experiments take 0.3 GB.
const defaultMemory = 4 << 30

// tooLarge is the error of an evaluation that was given up.
type tooLarge struct{ limit uint64 }

func (e tooLarge) Error() string {
	return fmt.Sprintf("evaluate the CUE files: more than %d MiB of memory needed", e.limit>>20)
}

// Hint says what to look for.
func (e tooLarge) Hint() string {
	return "look for a comprehension that grows without end; large parameter spaces belong into sweep.grid"
}

// tooSlow is the error of an evaluation that the context ended.
type tooSlow struct{ cause error }

func (e tooSlow) Error() string { return "evaluate the CUE files: " + e.cause.Error() }
func (e tooSlow) Unwrap() error { return e.cause }

// Hint says what to look for.
func (e tooSlow) Hint() string { return tooLarge{}.Hint() }

// fault is the error of a panic: a bug of ours.
type fault struct {
	value any
	stack []byte
}

func (e fault) Error() string { return fmt.Sprintf("load the spec: panic: %v\n%s", e.value, e.stack) }

// ExitCode says that it is a bug.
func (e fault) ExitCode() int { return 70 }

// bounded returns what f returns, or an error when the context ends or the heap outgrows limit. CUE cannot be
// interrupted: f then goes on until the process ends, which is what the caller should do next.
func bounded[T any](ctx context.Context, limit uint64, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if limit == 0 {
		limit = defaultMemory
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fault{p, debug.Stack()}
			}
			done <- r
		}()
		r.value, r.err = f()
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var none T
	for {
		select {
		case r := <-done:
			return r.value, r.err
		case <-ctx.Done():
			return none, tooSlow{context.Cause(ctx)}
		case <-tick.C:
			if heap() > limit {
				return none, tooLarge{limit}
			}
		}
	}
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
