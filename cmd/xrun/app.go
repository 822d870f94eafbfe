package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
	"github.com/xrun-dev/xrun/internal/report"
)

// The exit codes, as documented by `xrun help exit-codes`.
const (
	exitError       = 1
	exitUsage       = 2
	exitSkipped     = 5
	exitSomething   = 10
	exitBug         = 70
	exitInterrupted = 130
)

// app is what every command is given: the world as arguments.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	output         []os.FileInfo // the files that they go to, if any
	args           []string
	now            func() time.Time
	log            hclog.Logger
	asJSON         bool
	told           bool   // an error, on stderr
	writes         string // the state directory that the command works in
	globals
	color bool
}

// prepare applies the global flags.
func (a *app) prepare(g *globals) error {
	a.globals = *g
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("current directory: %w", err)
	}
	if a.Dir, err = filepath.Abs(filepath.Join(wd, g.Dir)); err != nil || filepath.IsAbs(g.Dir) {
		a.Dir = filepath.Clean(g.Dir)
	}
	if fi, err := os.Stat(a.Dir); err != nil || !fi.IsDir() {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("-C %s is not a directory", g.Dir)}
	}
	for _, p := range []*string{&a.State, &a.Inventory} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(a.Dir, *p)
		}
	}
	if fi, err := os.Stat(a.State); err == nil && !fi.IsDir() {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("the state directory %s is not a directory", a.State), hint: "name another one with --state, or XRUN_STATE"}
	}
	a.color = g.Color == "always" || g.Color == "auto" && os.Getenv("NO_COLOR") == "" && isTerminal(a.stderr)
	a.log = hclog.New(&hclog.LoggerOptions{
		Name: "xrun", Output: a.stderr, Level: hclog.LevelFromString(g.LogLevel), JSONFormat: g.LogFormat == "json",
	})
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

// wantsJSON looks for -o json before the flags are parsed, so that wrong usage can be told as JSON too.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "-o=json", "-ojson", "--output=json":
			return true
		case "-o", "--output":
			return i+1 < len(args) && args[i+1] == "json"
		case "--":
			return false
		}
	}
	return false
}

// cliError is an error with everything a user needs.
type cliError struct {
	code      int
	kind      string
	msg, hint string
	problems  []plan.Problem
}

func (e *cliError) Error() string { return e.msg }

// ExitCode is the exit code that the error asks for.
func (e *cliError) ExitCode() int { return e.code }

// Hint says what to do next.
func (e *cliError) Hint() string { return e.hint }

func usageError(err error) error {
	return &cliError{code: exitUsage, kind: "usage", msg: err.Error(), hint: "`xrun --help` lists commands and flags"}
}

// bugError is a panic of ours.
type bugError struct {
	value any
	stack []byte
}

func (e *bugError) Error() string { return fmt.Sprintf("a bug in xrun: %v", e.value) }

// ExitCode is 70.
func (e *bugError) ExitCode() int { return exitBug }

// Hint asks for a report.
func (e *bugError) Hint() string {
	return "please report it with the command, the version (`xrun version`) and these lines; nothing that finished is lost"
}

// errorDoc is the one JSON document of a command that failed.
type errorDoc struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code     int            `json:"code"`
	Kind     string         `json:"kind"`
	Message  string         `json:"message"`
	Hint     *string        `json:"hint"`
	Problems []plan.Problem `json:"problems"`
}

// fail reports err to the user and returns the exit code; 0 for nil.
func (a *app) fail(err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitError // nobody is there to be told
	}
	if e, ok := errors.AsType[*engine.BugError](err); ok {
		err = &bugError{value: e.Value, stack: e.Stack}
	}
	err = a.setAside(a.diskFull(err))
	body := errorBody{Code: exitError, Kind: "error", Message: err.Error(), Problems: []plan.Problem{}}
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		body.Code = e.ExitCode()
	}
	if hint := hintOf(err); hint != "" {
		body.Hint = &hint
	}
	if problems, ok := errors.AsType[specfile.Problems](err); ok {
		body.Code, body.Kind, body.Problems = exitUsage, "spec", problems
	}
	if e, ok := errors.AsType[*cliError](err); ok {
		body.Kind = e.kind
		body.Problems = append(body.Problems, e.problems...)
	}
	if e, ok := errors.AsType[*bugError](err); ok {
		body.Kind = "bug"
		fmt.Fprintf(a.stderr, "%s\n", e.stack)
	}
	if a.asJSON {
		a.printJSON(errorDoc{body})
		return body.Code
	}
	if len(body.Problems) > 0 {
		specfile.Render(a.stderr, body.Problems, a.color)
		body.Message = count(len(body.Problems), "problem")
		if body.Kind != "spec" {
			body.Message = err.Error()
		}
	}
	a.told = true
	fmt.Fprintf(a.stderr, "xrun: error: %s\n", visibleLines(body.Message))
	if body.Hint != nil {
		fmt.Fprintf(a.stderr, "xrun: hint: %s\n", visibleLines(*body.Hint))
	}
	return body.Code
}

// printJSON writes v as the one document on stdout.
func (a *app) printJSON(v any) error {
	b, err := jsonText(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(b)
	return err
}

// jsonText is v as every JSON document of ours is written: indented, with a newline, and nothing that a terminal obeys.
func jsonText(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return report.SafeJSON(b.Bytes()), nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sortedUnique(list []string) []string {
	s := slices.Clone(list)
	slices.Sort(s)
	return slices.Compact(s)
}

func hintOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	return ""
}
