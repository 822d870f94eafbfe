package plan

import (
	"slices"
	"strconv"
	"strings"
)

// A span is a duration at a path of the spec; nil is absent.
type span struct {
	of    *Duration
	least Duration // the smallest that makes sense
	path  []string
	hint  string
}

// spans checks durations. Those that may be 0 are a wait that can be left out.
func (c *checker) spans(spans []span) {
	for _, s := range spans {
		switch {
		case s.of == nil || *s.of >= s.least:
		case s.least == 0:
			c.add(s.path, s.hint, "%s is at least 0", strings.Join(s.path, "."))
		default:
			c.add(s.path, s.hint, "%s is above 0", strings.Join(s.path, "."))
		}
	}
}

func (c *checker) durations(e *Experiment) {
	given := func(d *Duration, path ...string) span {
		if !e.Set[strings.Join(path, ".")] {
			d = nil
		}
		return span{d, 1, path, ""}
	}
	spans := []span{
		given(&e.Limits.Trial, "limits", "trial"),
		given(&e.Limits.Evaluate, "limits", "evaluate"),
		{e.Limits.Silence, 1, []string{"limits", "silence"}, "leave it out if a trial may be silent"},
		{&e.Limits.Grace, 0, []string{"limits", "grace"}, ""},
		{e.Artifacts.KeepFor, 1, []string{"artifacts", "keep_for"}, ""},
	}
	if e.Setup != nil {
		spans = append(spans, given(&e.Setup.Timeout, "setup", "timeout"))
	}
	if e.Checkpoint != nil {
		spans = append(spans, span{e.Checkpoint.Ahead, 1, []string{"checkpoint", "ahead"}, ""})
	}
	if e.Retry != nil {
		spans = append(spans, span{&e.Retry.Backoff, 0, []string{"retry", "backoff"}, ""})
	}
	if s := e.Sweep; s != nil && s.Canary != nil && !s.Canary.Off {
		spans = append(spans, span{&s.Canary.For, 1, []string{"sweep", "canary"}, "canary: false sends no trial ahead"})
	}
	if e.Loop != nil {
		spans = append(spans, span{e.Loop.Stop.Wall, 1, []string{"loop", "stop", "wall"}, ""})
		if e.Loop.Tests != nil {
			spans = append(spans, given(&e.Loop.Tests.Timeout, "loop", "tests", "timeout"))
		}
	}
	c.spans(spans)
}

// texts finds NUL bytes in what a program is given: no argument and no variable can hold one.
func (c *checker) texts(e *Experiment) {
	c.words(e.Command, "command")
	c.variables(e.Env, "env")
	c.noNUL(e.Code.Path, "code", "path")
	c.words(e.Code.Include, "code", "include")
	c.words(e.Code.Exclude, "code", "exclude")
	c.words(e.Code.Ignore, "code", "ignore")
	c.words(e.Artifacts.Paths, "artifacts", "paths")
	c.words(e.Artifacts.Keep, "artifacts", "keep")
	if e.Setup != nil {
		c.words(e.Setup.Command, "setup", "command")
		c.words(e.Setup.Key, "setup", "key")
	}
	if e.Evaluate != nil {
		c.words(e.Evaluate.Command, "evaluate", "command")
		c.words(e.Evaluate.Files, "evaluate", "files")
		c.variables(e.Evaluate.Env, "evaluate", "env")
		c.secrets(e.Evaluate.Secrets, "evaluate", "secrets")
	}
	c.secrets(e.Secrets, "secrets")
	if e.Container != nil {
		c.noNUL(e.Container.Image, "container", "image")
		c.words(e.Container.Args, "container", "args")
	}
	c.fixed(e.Params, "params")
	if e.Loop != nil {
		if e.Loop.Tests != nil {
			c.words(e.Loop.Tests.Command, "loop", "tests", "command")
		}
		for i, cand := range e.Loop.Candidates {
			c.fixed(cand.Params, "loop", "candidates", strconv.Itoa(i), "params")
		}
	}
	if e.Sweep == nil {
		return
	}
	for _, l := range e.Sweep.lists() {
		for i, v := range l.values {
			c.noNUL(v.text, l.at(i)...)
		}
	}
	for i, point := range e.Sweep.Include {
		for _, p := range point {
			c.noNUL(p.Value.text, "sweep", "include", strconv.Itoa(i), p.Name)
		}
	}
}

// hostTexts does the same for a host.
func (c *checker) hostTexts(h *Host) {
	c.variables(h.Env, "hosts", h.Name, "env")
	c.words(h.Prelude, "hosts", h.Name, "prelude")
	c.noNUL(h.Workdir, "hosts", h.Name, "workdir")
}

func (c *checker) words(argv []string, path ...string) {
	for i, arg := range argv {
		c.noNUL(arg, append(slices.Clone(path), strconv.Itoa(i))...)
	}
}

func (c *checker) variables(env map[string]string, path ...string) {
	for _, name := range sortedKeys(env) {
		c.noNUL(env[name], append(slices.Clone(path), name)...)
	}
}

// secrets are about where secrets are found.
func (c *checker) secrets(secrets map[string]Secret, path ...string) {
	for _, name := range sortedKeys(secrets) {
		c.secret(secrets[name], append(slices.Clone(path), name)...)
	}
}

func (c *checker) secret(s Secret, path ...string) {
	c.words(s.Command, append(slices.Clone(path), "command")...)
	c.noNUL(s.Path, append(slices.Clone(path), "path")...)
}

func (c *checker) fixed(params map[string]Value, path ...string) {
	for _, name := range sortedKeys(params) {
		c.noNUL(params[name].text, append(slices.Clone(path), name)...)
	}
}

func (c *checker) noNUL(s string, path ...string) {
	if strings.ContainsRune(s, 0) {
		c.add(path, `remove the \u0000`, "this text holds a NUL byte, which no program can be given")
	}
}

// A valueList is the values of one parameter that are written out in a sweep.
type valueList struct {
	path   []string
	values []Value
}

func (l valueList) at(i int) []string { return append(slices.Clone(l.path), strconv.Itoa(i)) }

// lists are the lists of values of the axes and of random choices.
func (s *Sweep) lists() []valueList {
	var out []valueList
	s.axes(func(a Axis, path []string) {
		if len(a.Values) > 0 {
			out = append(out, valueList{path, a.Values})
		}
	})
	if s.Random != nil {
		for _, d := range s.Random.Params {
			if len(d.Values) > 0 {
				out = append(out, valueList{[]string{"sweep", "random", "params", d.Name, "values"}, d.Values})
			}
		}
	}
	return out
}

// axes calls f for every axis with its path.
func (s *Sweep) axes(f func(a Axis, path []string)) {
	each := func(axes Axes, path ...string) {
		for _, a := range axes {
			f(a, append(slices.Clone(path), a.Name))
		}
	}
	each(s.Grid, "sweep", "grid")
	each(s.Zip, "sweep", "zip")
	for i, axes := range s.Cases {
		each(axes, "sweep", "cases", strconv.Itoa(i))
	}
}
