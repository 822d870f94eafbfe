package plan

import (
	"path"
	"strconv"
	"strings"
)

// named looks for the files that the spec names and that no command starts: key files of the setup, and what is to be
// shipped though git ignores it. A glob that finds nothing may find something tomorrow, a name that is misspelt will not.
func (c *codeChecker) named() {
	if c.e.Setup != nil {
		for i, name := range c.e.Setup.Key {
			c.keyFile(name, []string{"setup", "key", strconv.Itoa(i)})
		}
	}
	for i, name := range c.e.Code.Include {
		if IsGlob(name) || strings.HasPrefix(name, "/") || c.look.At(path.Clean(name)).Kind != Nothing {
			continue
		}
		c.warn([]string{"code", "include", strconv.Itoa(i)}, c.besides(name), "%s is not there: nothing is shipped for it", path.Clean(name))
	}
}

// IsGlob reports whether a name may stand for others, and not only for itself.
func IsGlob(name string) bool { return strings.ContainsAny(name, `*?[{\`) }

// keyFile: without the file the setup runs once for good, and what it should depend on changes unseen.
func (c *codeChecker) keyFile(name string, at []string) {
	if IsGlob(name) {
		return
	}
	switch seen := c.look.At(path.Clean(name)); {
	case seen.Kind == Nothing:
		c.warn(at, c.besides(name), "%s is not found: the setup would not run again when it changes", path.Clean(name))
	case !seen.Shipped:
		c.warn(at, "", "%s is here, but is not shipped: %s", path.Clean(name), seen.Why)
	}
}

// besides suggests a shipped file of nearly the same name, or one of that name elsewhere.
func (c *codeChecker) besides(name string) string {
	if near := Nearest(path.Base(name), c.look.Beside(name)); near != "" {
		return "did you mean " + strconv.Quote(path.Join(path.Dir(name), near)) + "?"
	}
	for _, f := range c.look.Find(name) {
		if f.Shipped {
			return "did you mean " + strconv.Quote(f.Path) + "?"
		}
	}
	return ""
}
