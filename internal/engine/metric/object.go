package metric

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is a value of a JSON object or of a Python dict of literals.
type node struct {
	kind nodeKind
	text string // of a string, or the token of anything else that is a leaf
	at   int    // where it stands in the line
	keys []string
	list []node
}

type nodeKind int

const (
	leaf nodeKind = iota // a number, true, None, nan: a bare token
	str
	list
	dict
)

const maxDepth = 64

// A reader reads one object; both notations are one grammar here, for a log may hold what neither json.loads nor
// literal_eval takes as a whole (NaN, None, np.float64(0.5)).
type reader struct {
	b   []byte
	i   int
	bad bool
}

// parseObject parses b if all of it is one object. offset is added to positions.
func parseObject(b []byte, offset int) (node, bool) {
	if len(b) < 2 || b[0] != '{' || b[len(b)-1] != '}' {
		return node{}, false
	}
	r := reader{b: b}
	n := r.value(0, offset)
	return n, !r.bad && r.i == len(b)
}

func (r *reader) fail() node {
	r.bad = true
	return node{}
}

func (r *reader) blanks() {
	for r.i < len(r.b) && (isBlank(r.b[r.i]) || r.b[r.i] == '\r' || r.b[r.i] == '\n') {
		r.i++
	}
}

func (r *reader) peek() byte {
	r.blanks()
	if r.i >= len(r.b) {
		r.bad = true
		return 0
	}
	return r.b[r.i]
}

func (r *reader) value(depth, offset int) node {
	if depth > maxDepth {
		return r.fail()
	}
	switch c := r.peek(); {
	case r.bad:
		return node{}
	case c == '{':
		return r.members(depth, offset)
	case c == '[' || c == '(':
		return r.elements(depth, offset)
	case c == '"' || c == '\'':
		at := r.i
		return node{kind: str, text: r.quoted(), at: at + 1 + offset}
	default:
		return r.bare(offset)
	}
}

func (r *reader) members(depth, offset int) node {
	n := node{kind: dict, at: r.i + offset}
	for r.i++; ; {
		c := r.peek()
		if r.bad || c == '}' {
			r.i++
			return n
		}
		var key string
		if c == '"' || c == '\'' {
			key = r.quoted()
		} else {
			key = r.bare(offset).text // {0: 0.5}
		}
		if r.bad || r.peek() != ':' {
			return r.fail()
		}
		r.i++
		n.keys = append(n.keys, key)
		n.list = append(n.list, r.value(depth+1, offset))
		if !r.separator('}') {
			return r.fail()
		}
	}
}

func (r *reader) elements(depth, offset int) node {
	n := node{kind: list, at: r.i + offset}
	end := byte(']')
	if r.b[r.i] == '(' {
		end = ')'
	}
	for r.i++; ; {
		if c := r.peek(); r.bad || c == end {
			r.i++
			return n
		}
		n.list = append(n.list, r.value(depth+1, offset))
		if !r.separator(end) {
			return r.fail()
		}
	}
}

// separator takes a comma, and leaves the end where it is.
func (r *reader) separator(end byte) bool {
	switch c := r.peek(); {
	case r.bad:
		return false
	case c == ',':
		r.i++
		return true
	default:
		return c == end
	}
}

// quoted reads a string in single or double quotes.
func (r *reader) quoted() string {
	q := r.b[r.i]
	r.i++
	from := r.i
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case '\\':
			r.i++
		case q:
			s := string(r.b[from:r.i])
			r.i++
			if strings.IndexByte(s, '\\') >= 0 {
				s = unescape(s)
			}
			return s
		}
	}
	r.bad = true
	return ""
}

// unescape resolves the escapes of both notations; one that it does not know stays as it is.
func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n', 't', 'r', 'b', 'f':
			out = append(out, "\n\t\r\b\f"[strings.IndexByte("ntrbf", c)])
		case '"', '\'', '\\', '/':
			out = append(out, c)
		case 'u', 'x':
			digits := map[byte]int{'u': 4, 'x': 2}[c]
			if i+digits < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil {
					out = utf8.AppendRune(out, rune(v))
					i += digits
					continue
				}
			}
			out = append(out, '\\', c)
		default:
			out = append(out, '\\', c)
		}
	}
	return string(out)
}

// bare reads a token without quotes. A call keeps its text, np.float64(0.5) is 0.5: numpy 2 prints its numbers so.
func (r *reader) bare(offset int) node {
	from := r.i
	for r.i < len(r.b) && strings.IndexByte(" \t,:}])('\"{[", r.b[r.i]) < 0 {
		r.i++
	}
	n := node{text: string(r.b[from:r.i]), at: from + offset}
	if r.i == from {
		return r.fail()
	}
	if r.i == len(r.b) || r.b[r.i] != '(' {
		return n
	}
	open, depth := r.i, 0
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			r.i++
			if _, numpy := strings.CutPrefix(n.text, "np."); numpy {
				return node{text: string(r.b[open+1 : r.i-1]), at: open + 1 + offset}
			}
			n.text = string(r.b[from:r.i])
			return n
		}
	}
	return r.fail()
}

// maxName is the longest dotted key that is looked at: a long key of an object with many members would else be copied
// for each of them.
const maxName = 4 << 10

// walk calls on for every leaf and string that lies below dicts only, under its dotted key.
func (n node) walk(prefix string, on func(name string, n node)) {
	for i, key := range n.keys {
		if len(prefix)+len(key) > maxName {
			continue
		}
		name := key
		if prefix != "" {
			name = prefix + "." + key
		}
		switch v := n.list[i]; v.kind {
		case dict:
			v.walk(name, on)
		case leaf, str:
			on(name, v)
		}
	}
}

// get returns the member of a dict.
func (n node) get(key string) (node, bool) {
	for i, k := range n.keys {
		if k == key {
			return n.list[i], true
		}
	}
	return node{}, false
}
