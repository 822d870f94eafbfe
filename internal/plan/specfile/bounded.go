package specfile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// defaultMemory is what an evaluation may use: a thousand experiments take 0.3 GB.
const defaultMemory = 4 << 30

// runaway is the error of an evaluation that was given up because it grew without end.
type runaway struct{ message, hint string }

func (e runaway) Error() string { return e.message }

const growHint = "look for a comprehension that grows without end; large parameter spaces belong into sweep.grid"

// tooLarge is for the heap. Of recursion (endless) the runtime would end the process, without a word that a user could
// understand.
func tooLarge(limit uint64) error {
	return runaway{fmt.Sprintf("the evaluation needs more than %d MiB of memory", limit>>20), growHint}
}

var endless = runaway{"the evaluation recurses without end", "look for a field that refers to itself or to what contains it"}

// overdue is the error of an evaluation that the context ended: too long is the spec's fault, somebody's Ctrl-C is not.
func overdue(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("evaluate the CUE files: %w", cause)
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return runaway{"the evaluation takes too long", growHint}
	}
	return runaway{cause.Error(), growHint}
}

// fault is the error of a panic: a bug of ours.
type fault struct {
	value any
	stack []byte
}

func (e fault) Error() string { return fmt.Sprintf("load the spec: panic: %v\n%s", e.value, e.stack) }

// ExitCode says that it is a bug.
func (e fault) ExitCode() int { return 70 }

const (
	// deepest is how much stack an evaluation may use; CUE's own limit of ten thousand nested structs is within it.
	deepest = 64 << 20
	// maxStack is where the runtime ends the process. It is far beyond deepest, to be noticed in time.
	maxStack = 2 << 30
)

// bounded returns what f returns, or an error when the context ends, or memory or stack outgrow their limits. CUE cannot
// be interrupted: f then goes on until the process ends, which is what the caller should do next.
func bounded[T any](ctx context.Context, limit uint64, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if limit == 0 {
		limit = defaultMemory
	}
	debug.SetMaxStack(maxStack)
	_, before := memory()
	thrifty := lavish()
	defer thrifty()
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
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var none T
	for {
		select {
		case r := <-done:
			return r.value, r.err
		case <-ctx.Done():
			return none, overdue(ctx)
		case <-tick.C:
			if heap, stacks := memory(); stacks > before+deepest {
				return none, endless
			} else if heap > limit {
				return none, tooLarge(limit)
			} else if heap > limit/8 {
				thrifty()
			}
		}
	}
}

// lavish collects garbage a few times only while the heap is small, which saves a sixth of the time of an evaluation: most
// of what it makes lives to its end. What it returns goes back to the usual thrift. A user who has set GOGC knows better.
func lavish() (thrifty func()) {
	const usual, generous = 100, 400
	before := debug.SetGCPercent(generous)
	if before != usual {
		debug.SetGCPercent(before)
		return func() {}
	}
	return sync.OnceFunc(func() { debug.SetGCPercent(usual) })
}

// memory is what the heap's objects and all stacks take.
func memory() (heap, stacks uint64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}
