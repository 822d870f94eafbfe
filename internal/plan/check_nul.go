package plan

import (
	"slices"
	"strconv"
	"strings"
)

// nuls finds NUL characters where a text becomes an argument, a variable or a file name: the kernel ends each of those
// at its first NUL, so a trial could never be started with them.
func (c *checker) nuls(e *Experiment) {
	c.nulList(e.Command, "command")
	c.nulMap(e.Env, "env")
	c.nulIn(e.Code.Path, "code", "path")
	c.nulList(e.Code.Include, "code", "include")
	c.nulList(e.Code.Exclude, "code", "exclude")
	c.nulList(e.Code.Ignore, "code", "ignore")
	c.nulList(e.Artifacts.Paths, "artifacts", "paths")
	c.nulList(e.Artifacts.Keep, "artifacts", "keep")
	if e.Setup != nil {
		c.nulList(e.Setup.Command, "setup", "command")
		c.nulList(e.Setup.Key, "setup", "key")
	}
	if e.Evaluate != nil {
		c.nulList(e.Evaluate.Command, "evaluate", "command")
		c.nulList(e.Evaluate.Files, "evaluate", "files")
		c.nulMap(e.Evaluate.Env, "evaluate", "env")
	}
	for _, name := range sortedKeys(e.Params) {
		c.nulIn(e.Params[name].Text(), "params", name)
	}
	if e.Sweep != nil {
		c.nulSweep(e.Sweep)
	}
}

func (c *checker) nulSweep(s *Sweep) {
	axes := func(axes Axes, path ...string) {
		for _, a := range axes {
			c.nulValues(a.Values, append(slices.Clone(path), a.Name)...)
		}
	}
	axes(s.Grid, "sweep", "grid")
	axes(s.Zip, "sweep", "zip")
	for i, a := range s.Cases {
		axes(a, "sweep", "cases", strconv.Itoa(i))
	}
	for i, p := range s.Include {
		for _, v := range p {
			c.nulIn(v.Value.Text(), "sweep", "include", strconv.Itoa(i), v.Name)
		}
	}
	if s.Random != nil {
		for _, d := range s.Random.Params {
			c.nulValues(d.Values, "sweep", "random", "params", d.Name, "values")
		}
	}
}

func (c *checker) nulHost(h *Host) {
	at := []string{"hosts", h.Name}
	c.nulMap(h.Env, append(at, "env")...)
	c.nulList(h.Prelude, append(at, "prelude")...)
	c.nulIn(h.Workdir, append(at, "workdir")...)
}

func (c *checker) nulIn(s string, path ...string) {
	if strings.Contains(s, "\x00") {
		c.add(path, "", "a NUL character cannot be part of an argument, a variable or a file name")
	}
}

func (c *checker) nulList(list []string, path ...string) {
	for i, s := range list {
		c.nulIn(s, append(slices.Clone(path), strconv.Itoa(i))...)
	}
}

func (c *checker) nulMap(m map[string]string, path ...string) {
	for _, name := range sortedKeys(m) {
		c.nulIn(m[name], append(slices.Clone(path), name)...)
	}
}

func (c *checker) nulValues(values []Value, path ...string) {
	for i, v := range values {
		c.nulIn(v.Text(), append(slices.Clone(path), strconv.Itoa(i))...)
	}
}
