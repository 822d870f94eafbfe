package plan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sources checks what metrics are called, and where they are read.
func (c *checker) sources(e *Experiment) {
	c.metricName(e.Objective.Metric, "objective", "metric")
	c.readable(e.Objective.From, "objective", "from")
	for _, name := range sortedKeys(e.Metrics) {
		c.metricName(name, "metrics", name)
		c.readable(e.Metrics[name].From, "metrics", name, "from")
	}
}

// metricName finds a name that no program prints: every trial would end without it.
func (c *checker) metricName(name string, path ...string) {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		c.add(path, "it is the name that the program prints", "this names no metric")
	case trimmed != name:
		c.add(path, "write "+strconv.Quote(trimmed), "%q has blanks around it, which belong to no name", name)
	}
}

// brokenEscape is a ~ of a JSON pointer that stands for nothing.
var brokenEscape = regexp.MustCompile(`~(?:[^01]|$)`)

func (c *checker) readable(s *Source, path ...string) {
	if s == nil {
		return
	}
	at := func(field string) []string { return append(slices.Clone(path), field) }
	switch s.Kind {
	case "regex":
		re, err := regexp.Compile(s.Pattern)
		switch {
		case err != nil:
			c.add(at("pattern"), "RE2 has no lookahead and no backreferences: https://github.com/google/re2/wiki/Syntax", "%v", err)
		case re.SubexpIndex("value") < 0: // the schema sees the letters of a group, which may be escaped
			c.add(at("pattern"), "write (?P<value>…) around what is the number", "%q has no group named value", s.Pattern)
		}
	case "json":
		if brokenEscape.MatchString(s.Pointer) {
			c.add(at("pointer"), "in a JSON pointer ~0 stands for ~, and ~1 for /", "%q is no JSON pointer", s.Pointer)
		}
	case "csv":
		if strings.TrimSpace(s.Column) == "" {
			c.add(at("column"), "it is a word of the file's first line", "this names no column")
		}
	}
}
