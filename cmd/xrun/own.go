package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// notCode returns a function that tells the files that are never code, wherever they lie: experiment files, plans and
// reports of ours, and what the output of this very process goes to. A plan that was kept in the repository, or the log
// of a nightly run, would otherwise make every trial a new one.
func (a *app) notCode() func(file string) bool {
	spec := specfile.Finder()
	return func(file string) bool {
		if ext := filepath.Ext(file); spec(file) || (ext == ".json" || ext == ".plan" || ext == "") && isOurs(file) {
			return true
		}
		return len(a.output) > 0 && slices.ContainsFunc(a.output, func(out os.FileInfo) bool {
			fi, err := os.Lstat(file)
			return err == nil && os.SameFile(fi, out)
		})
	}
}

// regularFiles are those of the streams that go to a file, and not to a terminal or a pipe.
func regularFiles(streams ...io.Writer) []os.FileInfo {
	var out []os.FileInfo
	for _, w := range streams {
		if f, ok := w.(*os.File); ok {
			if fi, err := f.Stat(); err == nil && fi.Mode().IsRegular() {
				out = append(out, fi)
			}
		}
	}
	return out
}

// isOurs reports whether a file begins as plan.json and report.json do.
func isOurs(file string) bool {
	fi, err := os.Lstat(file)
	if err != nil || !fi.Mode().IsRegular() {
		return false // opening a fifo would wait for ever
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	rest, ok := bytes.CutPrefix(head[:n], []byte("{\n  \"schema_version\": "))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, "0123456789")
	return bytes.HasPrefix(rest, []byte(",\n  \"xrun_version\": "))
}
