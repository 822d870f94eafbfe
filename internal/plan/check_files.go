package plan

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	foundBelow   = "it is looked for below XRUN_OUT, then below code.path"
	shippedBelow = "it starts at code.path"
)

// files checks the names of files and the globs that stand for files of a trial or of the code: none leads elsewhere.
func (c *checker) files(e *Experiment) {
	c.source(e.Objective.From, "objective", "from", "file")
	for _, name := range sortedKeys(e.Metrics) {
		c.source(e.Metrics[name].From, "metrics", name, "from", "file")
	}
	c.inside(e.Artifacts.Paths, foundBelow, "artifacts", "paths")
	c.inside(e.Artifacts.Keep, foundBelow, "artifacts", "keep")
	if e.Evaluate != nil {
		c.inside(e.Evaluate.Files, foundBelow, "evaluate", "files")
	}
	if e.Setup != nil {
		c.inside(e.Setup.Key, shippedBelow, "setup", "key")
	}
	if l := e.Loop; l != nil {
		c.inside(l.Editable, shippedBelow, "loop", "editable")
		c.inside(l.Protected, shippedBelow, "loop", "protected")
		c.inside(l.Deliver, shippedBelow, "loop", "deliver")
		if l.Bootstrap != nil {
			c.within(l.Bootstrap.Path, shippedBelow, "loop", "bootstrap", "path")
		}
	}
	for _, name := range sortedKeys(e.Inputs) {
		c.within(e.Inputs[name].Path, "it is looked for among the artifacts of the other trial", "inputs", name, "path")
	}
}

// source is about the sources that are files.
func (c *checker) source(s *Source, path ...string) {
	if s != nil && (s.Kind == "json" || s.Kind == "csv") {
		c.within(s.File, foundBelow, path...)
	}
}

func (c *checker) inside(files []string, where string, path ...string) {
	for i, f := range files {
		c.within(f, where, append(slices.Clone(path), strconv.Itoa(i))...)
	}
}

func (c *checker) within(file, where string, at ...string) {
	for _, s := range parseTemplate(file) {
		if kind, _, _ := strings.Cut(s.text, "."); s.hole && (s.text == "seed" || contains([]string{"xrun", "data", "inputs"}, kind)) {
			c.warn(at, where, "{%s} is not filled in here, only in commands and in env", s.text)
			return
		}
	}
	clean := path.Clean(file)
	switch {
	case file == "":
		c.add(at, where, "this names no file")
	case path.IsAbs(file):
		c.add(at, where, "%q is not relative", file)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		c.add(at, where, "%q leads out of where it is looked for", file)
	}
}

// data checks the data that the evaluator names.
func (c *checker) data(e *Experiment) {
	if e.Evaluate == nil {
		return
	}
	declared := sortedKeys(e.Data)
	for i, name := range e.Evaluate.Data {
		if !contains(declared, name) {
			c.add([]string{"evaluate", "data", strconv.Itoa(i)}, meant(name, "data", declared, `declare it: data: `+cueLabel(name)+`: "v1"`), "the experiment has no data called %q", name)
		}
	}
}

// cueLabel is name as a label in CUE.
func cueLabel(name string) string {
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return strconv.Quote(name)
		}
	}
	return name
}
