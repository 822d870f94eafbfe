package plan

import (
	"regexp"
	"slices"
	"strings"
)

// A template is text with placeholders: {name} is one if what is between the braces could be the name of a parameter
// or is {params:--}; {{ and }} are literal braces, and any other brace stands for itself.
type template []segment

// A segment is literal text, or the name of a placeholder.
type segment struct {
	text string
	hole bool
}

var placeholderRE = regexp.MustCompile(`^(?:[+~]{0,2}[A-Za-z_][A-Za-z0-9_.@/-]*|params:--)$`)

func parseTemplate(s string) template {
	var t template
	var lit strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		lit.WriteString(s[:i])
		s = s[i:]
		if strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "}}") {
			lit.WriteByte(s[0])
			s = s[2:]
			continue
		}
		if end := strings.IndexByte(s, '}'); s[0] == '{' && end > 0 && placeholderRE.MatchString(s[1:end]) {
			if lit.Len() > 0 {
				t = append(t, segment{lit.String(), false})
				lit.Reset()
			}
			t = append(t, segment{s[1:end], true})
			s = s[end+1:]
			continue
		}
		lit.WriteByte(s[0])
		s = s[1:]
	}
	lit.WriteString(s)
	if lit.Len() > 0 || len(t) == 0 {
		t = append(t, segment{lit.String(), false})
	}
	return t
}

// appendTo appends the text of t to dst, with the placeholders that b knows replaced. The others stay as they are. With
// exact, literal braces are doubled again, so that the result is a template that cannot be mistaken for another.
func (t template) appendTo(dst []byte, b *Binding, exact bool) []byte {
	for _, s := range t {
		text := s.text
		if s.hole {
			v, ok := b.value(s.text)
			if !ok {
				dst = append(dst, '{')
				dst = append(dst, s.text...)
				dst = append(dst, '}')
				continue
			}
			text = v
		}
		dst = appendText(dst, text, exact)
	}
	return dst
}

func appendText(dst []byte, text string, exact bool) []byte {
	if exact && strings.ContainsAny(text, "{}") {
		text = braceDoubler.Replace(text)
	}
	return append(dst, text...)
}

var braceDoubler = strings.NewReplacer("{", "{{", "}", "}}")

// params reports whether t is exactly {params} or {params:--}, and the prefix of each parameter.
func (t template) params() (prefix string, ok bool) {
	if len(t) != 1 || !t[0].hole {
		return "", false
	}
	switch t[0].text {
	case "params":
		return "", true
	case "params:--":
		return "--", true
	}
	return "", false
}

// A Binding gives values to placeholders.
type Binding struct {
	Params Params
	Seed   int64
	// Host gives what only a host or a run can tell ("xrun.out", "data.corpus"); nil leaves those as they are.
	Host func(name string) (string, bool)
}

func (b *Binding) value(name string) (string, bool) {
	if v, ok := b.Params.Get(name); ok {
		return v.Text(), true
	}
	if name == "seed" {
		return IntValue(b.Seed).Text(), true
	}
	if b.Host != nil {
		return b.Host(name)
	}
	return "", false
}

// A Command is an argv and an environment with placeholders, parsed once and filled for many trials.
type Command struct {
	argv  []template
	names []string // of the environment, sorted
	env   []template
}

// ParseCommand parses the command and the environment of an experiment.
func ParseCommand(argv []string, env map[string]string) *Command {
	c := &Command{}
	for _, a := range argv {
		c.argv = append(c.argv, parseTemplate(a))
	}
	for name := range env {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	for _, name := range c.names {
		c.env = append(c.env, parseTemplate(env[name]))
	}
	return c
}

// Argv is the command for one binding. Values go in as they are: nothing in a value is taken for a placeholder.
func (c *Command) Argv(b Binding) []string {
	out := make([]string, 0, len(c.argv))
	c.eachArg(&b, sortedByName(b.Params), false, nil, func(item []byte) { out = append(out, string(item)) })
	return out
}

// Env is NAME=value for one binding, sorted by name.
func (c *Command) Env(b Binding) []string {
	out := make([]string, 0, len(c.env))
	c.eachEnv(&b, false, nil, func(item []byte) { out = append(out, string(item)) })
	return out
}

// eachArg yields the elements of the argv one by one, each in the same buffer. sorted are the parameters by name.
func (c *Command) eachArg(b *Binding, sorted Params, exact bool, buf []byte, yield func(item []byte)) {
	for _, t := range c.argv {
		prefix, ok := t.params()
		if !ok {
			buf = t.appendTo(buf[:0], b, exact)
			yield(buf)
			continue
		}
		for _, p := range sorted {
			buf = append(append(buf[:0], prefix...), p.Name...)
			buf = appendText(append(buf, '='), p.Value.text, exact)
			yield(buf)
		}
	}
}

func (c *Command) eachEnv(b *Binding, exact bool, buf []byte, yield func(item []byte)) {
	for i, t := range c.env {
		buf = append(append(buf[:0], c.names[i]...), '=')
		buf = t.appendTo(buf, b, exact)
		yield(buf)
	}
}

func sortedByName(ps Params) Params {
	if slices.IsSortedFunc(ps, byName) {
		return ps
	}
	s := slices.Clone(ps)
	slices.SortFunc(s, byName)
	return s
}

func byName(a, b Param) int { return strings.Compare(a.Name, b.Name) }

// EnvName is the variable in which a trial finds the parameter of that name: XRUN_PARAM_ and the name in upper case,
// with _ for every other character.
func EnvName(param string) string {
	return "XRUN_PARAM_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, param)
}
