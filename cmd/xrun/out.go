package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/plan"
)

// checkOut refuses what --out cannot be before the work is done, and keeps a plan that is there already out of the code.
func (a *app) checkOut(name string) error {
	wrong := func(hint, format string, args ...any) error {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf(format, args...), hint: hint}
	}
	path := a.path(name)
	fi, err := os.Stat(path)
	switch dir := filepath.Dir(path); {
	case err == nil && fi.IsDir():
		return wrong("name a file in it", "--out %s is a directory", name)
	case strings.HasSuffix(path, ".cue"):
		return wrong("a plan is JSON: --out plan.json", "--out %s would be a file of experiments", name)
	case err == nil:
		a.output = append(a.output, fi)
	default:
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return wrong("make it first", "--out %s: there is no directory %s", name, dir)
		}
	}
	return nil
}

// writeOut writes p to the file of --out, whole or not at all. What a link leads to is written and the link kept; a device
// or a pipe is written to, and not replaced.
func writeOut(path string, p *plan.Plan) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(planJSON(f, p), f.Close())
	}
	return writePlan(path, p)
}
