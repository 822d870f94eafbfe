package checkpoint

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		glob string
		yes  string // blank-separated
		no   string
	}{
		{"a.py", "a.py", "b.py x/a.py a.py/x a_py"},
		{"*.py", "a.py .py", "x/a.py a.pyc"},
		{"*", "a .a", "a/b"},
		{"?.py", "a.py é.py", "ab.py /.py"},
		{"**", "a a/b a/b/c", ""},
		{"**/*.md", "a.md x/a.md x/y/a.md", "a.mdx"},
		{"dir/**", "dir/a dir/a/b", "dir dirx/a x/dir/a"},
		{"dir/", "dir/a dir/a/b", "dir"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "a/xb ab a/b/c"},
		{"**/a/**/b", "a/b x/a/b x/a/y/a/z/b", "b a b/a"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"[a-c].txt", "a.txt c.txt", "d.txt"},
		{"[!a-c].txt", "d.txt", "a.txt"},
		{"[^a-c].txt", "d.txt", "a.txt"},
		{"{a,b}.txt", "a.txt b.txt", "c.txt {a,b}.txt"},
		{"{src,lib}/**/*.{c,h}", "src/a.c lib/x/y.h", "src/a.o other/a.c"},
		{"x{,.y{1,2}}", "x x.y1 x.y2", "x.y x.y3"},
		{"{a/b,c}/d", "a/b/d c/d", "b/d"},
		{`\*.py`, "*.py", "a.py"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"a**b", "ab axxb", "a/b"},
		{"./a", "a", "./a"},
		{"LICENSE*", "LICENSE LICENSE.md", "x/LICENSE"},
	} {
		for _, name := range strings.Fields(c.yes) {
			if ok, err := Match(c.glob, name); !ok {
				t.Errorf("Match(%q, %q) = %v, %v", c.glob, name, ok, err)
			}
		}
		for _, name := range strings.Fields(c.no) {
			if ok, err := Match(c.glob, name); ok {
				t.Errorf("Match(%q, %q) = %v, %v", c.glob, name, ok, err)
			}
		}
	}
	for _, bad := range []string{"", "/a", "../a", "a/../b", "a//b", "[", "[a", "{a", "a}", `\`, strings.Repeat("{a,b}", 11)} {
		if _, err := Match(bad, "a"); err == nil || !strings.Contains(err.Error(), "glob ") {
			t.Errorf("Match(%q): %v", bad, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"a/**/b", "[a-", "{a,{b,c}}", "**/**/**", `\`, "[^]]"} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		ok, err := Match(glob, name)
		if ok && err != nil {
			t.Error("a match and an error")
		}
		// A name without anything special matches itself.
		if name != "" && !strings.ContainsAny(name, `*?[]{}\,`) && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/") &&
			!strings.Contains("/"+name+"/", "/../") && !strings.Contains("/"+name+"/", "/./") && !strings.Contains(name, "//") {
			if ok, err := Match(name, name); !ok {
				t.Errorf("%q does not match itself: %v", name, err)
			}
		}
	})
}
