package plan

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// warn adds what is allowed and most likely not meant.
func (c *checker) warn(path []string, suggestion, format string, args ...any) {
	c.add(path, suggestion, format, args...)
	c.found[len(c.found)-1].Warning = true
}

func (c *checker) dubious(e *Experiment) {
	c.idleLimits(e)
	c.unused(e)
	c.programs(e)
	c.noGPUs(e)
	c.wrongWay(e)
	if e.Sweep != nil {
		c.rangeEnds(e.Sweep)
		c.mixedKinds(e.Sweep)
	}
}

// idleLimits finds limits on metrics that guard nothing.
func (c *checker) idleLimits(e *Experiment) {
	if e.Loop != nil || e.Claim != nil {
		return
	}
	for _, name := range sortedKeys(e.Metrics) {
		field := ""
		switch m := e.Metrics[name]; {
		case m.AtMost != nil:
			field = "at_most"
		case m.AtLeast != nil:
			field = "at_least"
		default:
			continue
		}
		c.warn([]string{"metrics", name, field}, "", "limits on metrics guard the candidates of a loop; here the metric is only recorded")
	}
}

var (
	nameEnds = regexp.MustCompile(`[^a-z0-9]+`)
	costs    = []string{"loss", "error", "perplexity", "ppl", "mse", "rmse", "mae", "latency"}
	gains    = []string{"accuracy", "acc", "f1", "auc", "auroc", "bleu", "throughput", "reward"}
)

// wrongWay finds an objective whose name says the opposite of its direction: the report would praise the worst point.
func (c *checker) wrongWay(e *Experiment) {
	words := nameEnds.Split(strings.ToLower(e.Objective.Metric), -1)
	says := func(names []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) })
	}
	cost, gain := says(costs), says(gains)
	at := []string{"objective", "direction"}
	switch {
	case cost == gain: // neither, or nothing is certain
	case cost && e.Objective.Direction == "maximize":
		c.warn(at, `write "minimize", unless more of it is better`, "the greatest %s would be the best", e.Objective.Metric)
	case gain && e.Objective.Direction == "minimize":
		c.warn(at, `write "maximize", unless less of it is better`, "the lowest %s would be the best", e.Objective.Metric)
	}
}

// rangeEnds finds ranges whose step passes their end by.
func (c *checker) rangeEnds(s *Sweep) {
	s.axes(func(a Axis, path []string) {
		if a.Range == nil || a.Range.Step == nil {
			return
		}
		n, err := a.Range.count()
		if err != nil {
			return
		}
		last := new(big.Rat).Mul(a.Range.Step.rat(), big.NewRat(int64(n-1), 1))
		if last.Add(last, a.Range.From.rat()); last.Cmp(a.Range.To.rat()) != 0 {
			c.warn(append(path, "to"), "", "to %s is not reached: the last value is %s", a.Range.To, ratValue(last))
		}
	})
}

// mixedKinds finds a number in quotes among numbers: it is another value than the number, and another trial.
func (c *checker) mixedKinds(s *Sweep) {
	for _, l := range s.lists() {
		if !slices.ContainsFunc(l.values, func(v Value) bool { return v.kind == Number }) {
			continue
		}
		for i, v := range l.values {
			if _, err := NumberValue(v.text); v.kind == String && err == nil {
				c.warn(l.at(i), fmt.Sprintf("write %s, or put all of them in quotes", v.text), "%q is a string among numbers", v.text)
				break
			}
		}
	}
}

// missed finds text in braces that is nearly a placeholder and stands for itself.
func (c *checker) missed(in scope, text string, path []string) {
	for _, inner := range braced(text) {
		if meant := in.meant(inner); meant != "" {
			c.warn(path, "write {"+meant+"}", "{%s} is not a placeholder and is passed as it is", inner)
		}
	}
}

// likeName is what a slip of the finger could have made of a placeholder; {"a": 1} and {print $1} are none.
var likeName = regexp.MustCompile(`^[+~-]{0,2}[A-Za-z_][A-Za-z0-9_.@/-]*[:=]?-*$`)

// meant is the placeholder that the text between two braces was most likely meant as, or "".
func (in scope) meant(inner string) string {
	name := strings.Trim(inner, " \t")
	if slices.Contains(in.known, name) {
		return name
	}
	if !in.params || !likeName.MatchString(name) {
		return ""
	}
	lower := strings.ToLower(name)
	plain, dashed := distance(lower, "params"), distance(lower, "params:--")
	switch {
	case min(plain, dashed) > 2:
		return ""
	case dashed <= plain || strings.ContainsAny(name, ":=-"):
		return "params:--"
	default:
		return "params"
	}
}

// braced are the texts between two braces that parseTemplate takes for no placeholder, without doubled braces.
func braced(s string) []string {
	var out []string
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return out
		}
		s = s[i:]
		if strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "}}") {
			s = s[2:]
			continue
		}
		end := strings.IndexByte(s, '}')
		switch {
		case s[0] == '}' || end < 0:
			s = s[1:]
		case placeholderRE.MatchString(s[1:end]):
			s = s[end+1:]
		default:
			if inner := s[1:end]; !strings.Contains(inner, "{") {
				out = append(out, inner)
			}
			s = s[1:]
		}
	}
}
