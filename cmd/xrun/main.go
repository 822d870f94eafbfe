// Command xrun plans and runs experiments that are written in CUE, and reports what they found.
//
//	xrun init                  make a package that works
//	xrun plan ./experiments    show what would run, where, and why
//	xrun run ./experiments     run it; finished trials are never run twice
//	xrun report last           read the result again
//
// `xrun --help` lists the commands, `xrun help exit-codes` and the other topics explain the contract.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// Set by tests before main, so that scripts read the same every time.
var (
	testOnlyNow func() time.Time
	testOnlyID  func() string
)

func main() {
	// A supervisor outlives the process that started it and must not read a spec, a flag or a signal: it comes first.
	if len(os.Args) == 2 && os.Args[1] == superviseArg {
		os.Exit(hosts.Supervise(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	// A reader that went away (| head) is an error of that write, not the end of a run. Notify, unlike Ignore, is not
	// inherited by what we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // whoever started us (nohup, a shell's background job) did not want it to end us
			signal.Notify(signals, sig)
		}
	}
	go func() {
		s := <-signals
		cancel(interrupted{s})
		// Asked twice: leave at once. Every fact that was shown is on disk.
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ os.Signal }

func (i interrupted) Error() string { return "signal: " + i.String() }

// Is makes it a cancellation like any other.
func (i interrupted) Is(target error) bool { return target == context.Canceled }

// exitCode is what kong is made to panic with when it wants to exit.
type exitCode int

// run parses args and executes one command. It never exits the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	out := &checkedWriter{w: stdout}
	a := &app{stdin: stdin, stdout: out, stderr: stderr, args: args, now: time.Now, asJSON: wantsJSON(args), output: regularFiles(stdout, stderr)}
	if testOnlyNow != nil {
		a.now = testOnlyNow
	}
	defer func() {
		if out.err == nil {
			return
		}
		if !a.told { // with -o json the error itself was to go there
			fmt.Fprintf(stderr, "xrun: error: %v\n", out.err)
		}
		if code != exitBug && code != exitInterrupted {
			code = exitError
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exitCode:
			code = int(r)
		default:
			code = a.fail(&bugError{value: r, stack: debug.Stack()})
		}
	}()
	var c cli
	k, err := newParser(ctx, a, &c, out, stderr)
	if err != nil {
		return a.fail(&bugError{value: err})
	}
	kctx, err := k.Parse(args)
	if errors.Is(err, syscall.EPIPE) {
		return a.fail(err)
	}
	if err != nil {
		return a.fail(parseError(err))
	}
	if err := a.prepare(&c.globals); err != nil {
		return a.fail(err)
	}
	err = kctx.Run()
	var done exitStatus
	if errors.As(err, &done) {
		return int(done)
	}
	if err != nil && ctx.Err() != nil {
		err = &cliError{code: exitInterrupted, kind: "interrupted", msg: fmt.Sprintf("%v; nothing was lost", context.Cause(ctx)), hint: "`xrun resume` goes on with a run that had begun"}
	}
	return a.fail(err)
}

// takeString takes an argument byte for byte: kong's own way leads through JSON, and a path need not be UTF-8.
func takeString(c *kong.DecodeContext, target reflect.Value) error {
	t, err := c.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(t.String())
	return nil
}

// exitStatus is the error of a command that has said everything and only wants another exit code.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// status is nil for 0.
func status(code int) error {
	if code == 0 {
		return nil
	}
	return exitStatus(code)
}

// A checkedWriter remembers that what was written to it did not arrive, for all who do not look: a result on a full disk
// must not look like one. That nobody reads on (| head) is no error.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil && !errors.Is(err, syscall.EPIPE) {
		c.err = err
	}
	return n, err
}

// unchecked is the writer itself.
func unchecked(w io.Writer) io.Writer {
	if c, ok := w.(*checkedWriter); ok {
		return c.w
	}
	return w
}
