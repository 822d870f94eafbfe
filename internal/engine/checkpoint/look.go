package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
)

// Head is the beginning of a file below the code's directory, of at most that many bytes. A link, a fifo or what is no
// file any more is an error.
func (m *Manifest) Head(path string, most int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(m.Dir)
	if err != nil {
		return nil, err
	}
	f, _, err := openRegular(filepath.Join(real, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// WhyLeft says why what lies at a path below the code's directory is not shipped, as far as it can be told.
func WhyLeft(ctx context.Context, sel Selection, path string) string {
	real, err := filepath.EvalSymlinks(sel.Dir)
	if err != nil {
		return err.Error()
	}
	f, err := newFilter(sel, real)
	if err != nil {
		return err.Error()
	}
	for i, p := range f.exclude {
		if p.matchBelow(path) {
			return fmt.Sprintf("code.exclude names it (%q)", sel.Exclude[i])
		}
	}
	if hasGitElement(path) {
		return "it is git's own"
	}
	if !f.ships(path) {
		return "it belongs to the spec or to xrun"
	}
	if root := climb(real); root != "" {
		if rule := ignoreRule(ctx, root, real, path); rule != "" {
			return "git ignores it (" + rule + ")"
		}
		return "git does not list it"
	}
	return "it is no file of the code"
}

// ignoreRule is the rule by which git ignores a path, with its place; "" if there is none or git does not tell.
func ignoreRule(ctx context.Context, root, dir, path string) string {
	out, err := runGit(ctx, root, dir, "check-ignore", "--verbose", "--no-index", "--", "./"+path)
	if err != nil {
		return "" // of one that no rule names, too
	}
	m := verboseRule.FindSubmatch(out)
	if m == nil || bytes.HasPrefix(m[3], []byte("!")) {
		return ""
	}
	source := string(m[1])
	if filepath.IsAbs(source) {
		source = filepath.Base(source) // the user's own rules
	}
	return fmt.Sprintf("%s:%s: %s", source, m[2], m[3])
}

// verboseRule is source:line:pattern, before a tab and the path.
var verboseRule = regexp.MustCompile(`^([^\t]*?):([0-9]+):([^\t]*)\t`)
