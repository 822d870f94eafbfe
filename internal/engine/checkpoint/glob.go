package checkpoint

import (
	"fmt"
	"path"
	"strings"
)

// maxAlternatives bounds what the braces of one glob may expand to.
const maxAlternatives = 1000

// Match reports whether the whole of a slash-separated path matches glob: * and ? stay within one directory, ** as a
// whole element crosses any number of them, [a-z], [^a-z] and [!a-z] are classes, {a,b} alternatives, \ quotes. A
// trailing slash, as in "dir/", stands for "dir/**". The only error is a glob that is not valid; it names the glob.
func Match(glob, name string) (bool, error) {
	p, err := compile(glob)
	if err != nil {
		return false, err
	}
	return p.match(name), nil
}

// A pattern is a glob with its braces expanded, each alternative split at its slashes.
type pattern struct {
	glob         string
	alternatives [][]string
}

// compile checks a glob once, so that matching cannot fail.
func compile(glob string) (pattern, error) {
	bad := func(why string) (pattern, error) { return pattern{}, fmt.Errorf("glob %q: %s", glob, why) }
	clean := strings.TrimPrefix(glob, "./")
	if clean == "" {
		return bad("it is empty")
	}
	if strings.HasPrefix(clean, "/") {
		return bad("it is absolute; globs are relative to the code's directory")
	}
	if strings.HasSuffix(clean, "/") {
		clean += "**"
	}
	expanded, err := expand(clean)
	if err != nil {
		return bad(err.Error())
	}
	p := pattern{glob: glob}
	for _, one := range expanded {
		segments := splitGlob(one)
		for i, s := range segments {
			switch {
			case s == "..":
				return bad("it leaves the code's directory")
			case s == "" || s == ".":
				return bad("it has an empty path element")
			case s == "**":
				continue
			}
			s = caretClasses(s)
			if err := checkSegment(s); err != nil {
				return bad(err.Error())
			}
			segments[i] = s
		}
		p.alternatives = append(p.alternatives, segments)
	}
	return p, nil
}

// checkSegment makes path.Match look at the whole of a pattern; it stops early where the name is too short.
func checkSegment(s string) error {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return fmt.Errorf("it ends in a backslash")
			}
		case '[':
			end := classEnd(s, i)
			if end < 0 {
				return fmt.Errorf("a [ has no ]")
			}
			if _, err := path.Match(s[i:end], "x"); err != nil {
				return fmt.Errorf("the class %s is not valid", s[i:end])
			}
			i = end - 1
		}
	}
	return nil
}

// classEnd returns the index behind the class that starts at s[i], or -1.
func classEnd(s string, i int) int {
	j := i + 1
	if j < len(s) && (s[j] == '^' || s[j] == '!') {
		j++
	}
	for first := true; j < len(s); j, first = j+1, false {
		switch {
		case s[j] == '\\':
			j++
		case s[j] == ']' && !first:
			return j + 1
		}
	}
	return -1
}

// caretClasses rewrites [!a] as [^a], which is what path.Match knows.
func caretClasses(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			end := classEnd(s, i)
			if end < 0 {
				return s
			}
			if b[i+1] == '!' {
				b[i+1] = '^'
			}
			i = end - 1
		}
	}
	return string(b)
}

// splitGlob splits at the slashes that are not in a class and not quoted.
func splitGlob(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if end := classEnd(s, i); end > 0 && !strings.Contains(s[i:end], "/") {
				i = end - 1
			}
		case '/':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// expand resolves the outermost braces, then those within; a brace without its partner is an error.
func expand(s string) ([]string, error) {
	open, depth := -1, 0
	var cuts []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if end := classEnd(s, i); end > 0 {
				i = end - 1
			}
		case '{':
			if depth++; depth == 1 {
				open, cuts = i, []int{i}
			}
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth < 0 {
				return nil, fmt.Errorf("a } has no {")
			}
			if depth > 0 {
				continue
			}
			return expandAt(s, open, append(cuts, i))
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("a { has no }")
	}
	return []string{s}, nil
}

func expandAt(s string, open int, cuts []int) ([]string, error) {
	var out []string
	end := cuts[len(cuts)-1]
	for k := 1; k < len(cuts); k++ {
		more, err := expand(s[:open] + s[cuts[k-1]+1:cuts[k]] + s[end+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxAlternatives {
			return nil, fmt.Errorf("its braces stand for more than %d globs", maxAlternatives)
		}
	}
	return out, nil
}

func (p pattern) match(name string) bool {
	if name == "" {
		return false
	}
	parts := strings.Split(name, "/")
	for _, segments := range p.alternatives {
		if matchSegments(segments, parts) {
			return true
		}
	}
	return false
}

// matchSegments goes back to the last ** only, which is enough and keeps it linear in the number of **.
func matchSegments(segments, parts []string) bool {
	i, j := 0, 0
	star, from := -1, 0
	for j < len(parts) {
		switch {
		case i < len(segments) && segments[i] == "**":
			star, from = i, j
			i++
			// dir/** is what lies in dir, not dir itself: a last ** takes at least one element.
			if i == len(segments) {
				return true
			}
		case i < len(segments) && matchSegment(segments[i], parts[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return i == len(segments)
}

func matchSegment(segment, part string) bool {
	if !strings.ContainsAny(segment, `*?[\`) {
		return segment == part
	}
	ok, err := path.Match(segment, part)
	return ok && err == nil
}
