package checkpoint

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// listLibrary does what listProgram does where the git program is missing or refuses: the index as go-git reads it,
// and a walk with go-git's matcher.
func listLibrary(ctx context.Context, root, dir string) (found, error) {
	var f found
	repo, err := openRepo(root)
	if err != nil {
		return f, err
	}
	index, err := repo.Index()
	if err != nil {
		return f, err
	}
	prefix, err := prefixOf(root, dir)
	if err != nil {
		return f, err
	}
	links := map[string]bool{}
	for _, e := range index.Entries {
		name, ok := strings.CutPrefix(e.Name, prefix)
		switch {
		case !ok:
			continue
		case e.Mode == filemode.Submodule:
			f.links = append(f.links, name)
			links[name] = true
		default:
			f.paths = append(f.paths, name)
		}
		if e.SkipWorktree {
			f.sparse = append(f.sparse, name)
		}
	}
	w := ignoreWalk{ctx: ctx, root: root, prefix: prefix, links: links, found: &f}
	var at []string
	patterns := basePatterns(root)
	for element := range strings.SplitSeq(strings.TrimSuffix(prefix, "/"), "/") {
		patterns = append(patterns, ignoreFile(filepath.Join(root, filepath.Join(at...), ".gitignore"), at)...)
		if element == "" {
			break
		}
		at = append(slices.Clone(at), element)
		if gitignore.NewMatcher(patterns).Match(at, true) {
			return f, nil // the directory itself is ignored
		}
	}
	if prefix != "" {
		patterns = append(patterns, ignoreFile(filepath.Join(dir, ".gitignore"), at)...)
	}
	return f, w.dir(at, patterns)
}

// prefixOf is the path of dir below root, slash-separated, ending in a slash unless it is empty.
func prefixOf(root, dir string) (string, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel) + "/", nil
}

// An ignoreWalk finds the untracked files that no rule ignores.
type ignoreWalk struct {
	ctx    context.Context
	root   string
	prefix string
	links  map[string]bool
	found  *found
}

// dir walks the directory at (its elements below root) under the rules that hold in it. The slices are cloned: the
// patterns keep them.
func (w *ignoreWalk) dir(at []string, patterns []gitignore.Pattern) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	here := filepath.Join(append([]string{w.root}, at...)...)
	entries, err := os.ReadDir(here)
	if err != nil {
		return err
	}
	matcher := gitignore.NewMatcher(patterns)
	for _, e := range entries {
		below := append(slices.Clone(at), e.Name())
		name := strings.TrimPrefix(strings.Join(below, "/"), w.prefix)
		if e.Name() == ".git" || matcher.Match(below, e.IsDir()) {
			continue
		}
		if !e.IsDir() {
			w.found.paths = append(w.found.paths, name)
			continue
		}
		if w.links[name] {
			continue
		}
		full := filepath.Join(here, e.Name())
		if _, err := gitDir(full); err == nil {
			w.found.nested = append(w.found.nested, name)
			continue
		}
		rules := append(slices.Clip(patterns), ignoreFile(filepath.Join(full, ".gitignore"), below)...)
		if err := w.dir(below, rules); err != nil {
			return err
		}
	}
	return nil
}

// basePatterns are the rules that stand outside the tree, least important first.
func basePatterns(root string) []gitignore.Pattern {
	slash := bound("/")
	patterns, _ := gitignore.LoadSystemPatterns(slash)
	global, _ := gitignore.LoadGlobalPatterns(slash)
	patterns = append(patterns, global...)
	if config, err := os.UserConfigDir(); err == nil && len(global) == 0 {
		patterns = append(patterns, ignoreFile(filepath.Join(config, "git", "ignore"), nil)...)
	}
	if dir, err := gitDir(root); err == nil {
		if common, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
			if c := strings.TrimSpace(string(common)); filepath.IsAbs(c) {
				dir = c
			} else {
				dir = filepath.Join(dir, c)
			}
		}
		patterns = append(patterns, ignoreFile(filepath.Join(dir, "info", "exclude"), nil)...)
	}
	return patterns
}

// ignoreFile reads the rules of one file, for the directory at. As in git, a link is not followed.
func ignoreFile(file string, at []string) []gitignore.Pattern {
	if fi, err := os.Lstat(file); err != nil || fi.Mode()&fs.ModeType != 0 {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []gitignore.Pattern
	for line := range strings.Lines(string(b)) {
		if s := strings.TrimRight(line, "\r\n"); !strings.HasPrefix(s, "#") && strings.TrimSpace(s) != "" {
			out = append(out, gitignore.ParsePattern(s, at))
		}
	}
	return out
}
