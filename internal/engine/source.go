package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/engine/metric"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A wanted is a metric that an experiment asks for, and where it is found.
type wanted struct {
	metric.Want
	from plan.Source // of kind log, regex, json or csv
}

// wants are the metrics to look for: the objective, then the others by name.
func wants(e *plan.Experiment) []wanted {
	ws := []wanted{newWanted(e.Objective.Metric, e.Objective.Pick, e.Objective.From)}
	for name, m := range e.Metrics {
		if name != e.Objective.Metric {
			ws = append(ws, newWanted(name, m.Pick, m.From))
		}
	}
	slices.SortFunc(ws[1:], func(a, b wanted) int { return strings.Compare(a.Name, b.Name) })
	return ws
}

func newWanted(name, pick string, from *plan.Source) wanted {
	w := wanted{Want: metric.Want{Name: name, Pick: pick}, from: plan.Source{Kind: "log"}}
	if from != nil {
		w.from = *from
	}
	if w.from.Kind == "regex" {
		// One that does not compile, or has no group for the value, finds nothing; the spec's check has refused it, but a
		// run that an older version planned may be resumed.
		if re, err := regexp.Compile(w.from.Pattern); err == nil && re.SubexpIndex("value") >= 0 {
			w.Pattern = re
		} else {
			w.Pattern = nothing
		}
	}
	return w
}

// nothing matches no text, and has the group that a pattern must have.
var nothing = regexp.MustCompile(`[^\x00-\x{10FFFF}](?P<value>)`)

// inFile reports whether the metric is read from a file when the attempt has ended, and not from the log.
func (w wanted) inFile() bool { return w.from.Kind == "json" || w.from.Kind == "csv" }

// how says how the value is taken, as it is recorded: a result that was taken in another way is read again.
func (w wanted) how() string {
	switch w.from.Kind {
	case "json":
		return w.Pick + " of " + w.from.File + " " + w.from.Pointer
	case "csv":
		return w.Pick + " of " + w.from.File + " " + w.from.Column
	case "regex":
		return w.Pick + " of " + w.from.Pattern
	}
	return w.Pick
}

// logWants are those that the log tells.
func logWants(ws []wanted) []metric.Want {
	var out []metric.Want
	for _, w := range ws {
		if !w.inFile() {
			out = append(out, w.Want)
		}
	}
	return out
}

// A finding is what was found of one metric; missing says, where nothing was, what there is instead.
type finding struct {
	metric.Result
	missing string
	file    string // the one it was read from; "" where that is the log
}

// findings joins what the log says with what the files of dir say, in the order of ws.
func findings(ws []wanted, log []metric.Result, dir string, files []string, hide *Redactor, on func(metric.Reading)) ([]finding, error) {
	var out []finding
	for _, w := range ws {
		if !w.inFile() {
			f := finding{Result: log[0]}
			f.missing = "never printed " + w.Name
			if w.from.Kind == "regex" {
				f.missing = "never printed anything that matches the pattern of " + w.Name
			}
			switch {
			case len(f.NearMisses) > 0:
				f.missing += "; it printed " + strings.Join(f.NearMisses, "; ")
			case w.from.Kind != "regex":
				f.missing += " in a form that is read (xrun help metrics)"
			}
			out, log = append(out, f), log[1:]
			continue
		}
		f, err := w.read(dir, files, hide, on)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// read takes the metric out of its file among files, which lie in dir. What it says of the file holds no secret.
func (w wanted) read(dir string, files []string, hide *Redactor, on func(metric.Reading)) (finding, error) {
	matching := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		ok, err := checkpoint.Match(w.from.File, f)
		return err != nil || !ok
	})
	switch {
	case len(matching) == 0:
		f := finding{Result: metric.Result{Name: w.Name}, missing: fmt.Sprintf("left no %s, where %s is read", w.from.File, w.Name)}
		if len(files) > 0 {
			f.missing += "; it left " + brief(strings.Join(files[:min(5, len(files))], ", "))
		}
		return f, nil
	case len(matching) > 1:
		return finding{Result: metric.Result{
			Name: w.Name, Failed: true,
			Problem: fmt.Sprintf("%s is %d files, and can be only one: %s", w.from.File, len(matching), brief(strings.Join(matching[:min(5, len(matching))], ", "))),
		}}, nil
	}
	file, what, err := openLeft(filepath.Join(dir, filepath.FromSlash(matching[0])))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{Result: metric.Result{Name: w.Name}, missing: fmt.Sprintf("left %s, where %s is read, but it is gone", matching[0], w.Name)}, nil
	case err != nil:
		return finding{}, fmt.Errorf("read metric %s: %w", w.Name, err)
	case what != "":
		return finding{Result: metric.Result{Name: w.Name, Failed: true, Problem: matching[0] + " " + what}}, nil
	}
	defer file.Close()
	var r metric.Result
	place := w.from.Pointer
	if w.from.Kind == "csv" {
		place = "column " + w.from.Column
		r, err = metric.ReadCSV(hide.reader(file), w.Want, w.from.Column, on)
	} else {
		r, err = metric.ReadJSON(hide.reader(file), w.Want, w.from.Pointer, on)
	}
	if err != nil {
		return finding{}, fmt.Errorf("read metric %s from %s: %w", w.Name, matching[0], err)
	}
	if r.Problem != "" {
		r.Problem = matching[0] + ": " + r.Problem
	}
	f := finding{Result: r, file: matching[0], missing: fmt.Sprintf("left %s without %s", matching[0], place)}
	if len(r.NearMisses) > 0 {
		f.missing += "; it has " + strings.Join(r.NearMisses, "; ")
	}
	return f, nil
}

// openLeft opens a file that a program left; what says why there is nothing to read. Links come home too, and lead where
// the program says: that is about its result, not about us, and must not end the run.
func openLeft(name string) (file *os.File, what string, err error) {
	file, err = os.Open(name)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, "is a link that leads nowhere", nil
	case errors.Is(err, fs.ErrPermission):
		return nil, "may not be read", nil
	case err != nil:
		return nil, "", err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, "", errors.Join(err, file.Close())
	case !info.Mode().IsRegular():
		return nil, "leads to a directory and not to a file", file.Close()
	}
	return file, "", nil
}

// sourceFiles are the files that metrics are read from.
func sourceFiles(ws []wanted) []string {
	var out []string
	for _, w := range ws {
		if w.inFile() {
			out = append(out, w.from.File)
		}
	}
	return out
}
