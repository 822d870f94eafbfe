package plan

import "regexp"

// sources checks where metrics are read.
func (c *checker) sources(e *Experiment) {
	c.pattern(e.Objective.From, "objective", "from", "pattern")
	for _, name := range sortedKeys(e.Metrics) {
		c.pattern(e.Metrics[name].From, "metrics", name, "from", "pattern")
	}
}

func (c *checker) pattern(s *Source, path ...string) {
	if s == nil || s.Kind != "regex" {
		return
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		c.add(path, "RE2 has no lookahead and no backreferences: https://github.com/google/re2/wiki/Syntax", "%v", err)
	}
}
