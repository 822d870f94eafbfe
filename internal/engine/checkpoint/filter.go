package checkpoint

import (
	"path/filepath"
	"strings"
)

// A globs is a list of patterns. Where a pattern is the plain name of a directory, it takes all that lies below.
type globs []pattern

func compileAll(field string, list []string) (globs, error) {
	var out globs
	for _, g := range list {
		p, err := compile(g)
		if err != nil {
			return nil, wrong(field, "", "code.%s: %w", field, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (g globs) match(name string) bool {
	for _, p := range g {
		if p.matchBelow(name) {
			return true
		}
	}
	return false
}

func (p pattern) matchBelow(name string) bool {
	if p.match(name) {
		return true
	}
	for _, segments := range p.alternatives {
		if plain := strings.Join(segments, "/"); !strings.ContainsAny(plain, `*?[\`) && strings.HasPrefix(name, plain+"/") {
			return true
		}
	}
	return false
}

// A filter is a Selection, checked.
type filter struct {
	include, exclude, ignore globs
	omit                     []string // relative to the code's directory; "" is the directory itself
	omitFile                 func(name string) bool
}

func newFilter(s Selection, real string) (*filter, error) {
	f := &filter{omitFile: func(string) bool { return false }}
	if s.OmitFile != nil {
		f.omitFile = func(name string) bool { return s.OmitFile(filepath.Join(s.Dir, filepath.FromSlash(name))) }
	}
	var err error
	if f.include, err = compileAll("include", s.Include); err != nil {
		return nil, err
	}
	if f.exclude, err = compileAll("exclude", s.Exclude); err != nil {
		return nil, err
	}
	if f.ignore, err = compileAll("ignore", s.Ignore); err != nil {
		return nil, err
	}
	for _, o := range s.Omit {
		// Spelled by the caller or as the links resolve: one of them is below the code.
		for _, pair := range [][2]string{{s.Dir, o}, {real, resolved(o)}} {
			rel, err := filepath.Rel(pair[0], pair[1])
			if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				f.omit = append(f.omit, filepath.ToSlash(rel))
			}
		}
	}
	return f, nil
}

// resolved follows the links of the longest part of a path that exists; an omitted file need not be there.
func resolved(p string) string {
	rest := ""
	for up := filepath.Clean(p); ; up = filepath.Dir(up) {
		if r, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(r, rest)
		}
		if up == filepath.Dir(up) {
			return p
		}
		rest = filepath.Join(filepath.Base(up), rest)
	}
}

// ships reports whether a candidate (tracked, untracked or found for an include) is shipped.
func (f *filter) ships(name string) bool {
	if hasGitElement(name) || f.exclude.match(name) {
		return false
	}
	for _, o := range f.omit {
		if o == "." || o == name || strings.HasPrefix(name, o+"/") {
			return f.names(o, name)
		}
	}
	if f.omitFile(name) {
		return f.names(name, name)
	}
	return true
}

// names reports whether an include glob speaks of an omitted path rather than catching it on the way: "**" and
// "**/*.json" do not bring the ledger along, ".xrun/notes.json" and "**/*.cue" bring what they name.
func (f *filter) names(omitted, name string) bool {
	depth := strings.Count(omitted, "/") + 1
	for _, p := range f.include {
		if !p.matchBelow(name) {
			continue
		}
		for _, segments := range p.alternatives {
			if omitted == name {
				if strings.Trim(strings.Join(segments, ""), "*") != "" {
					return true
				}
				continue
			}
			if depth <= len(segments) && !hasStars(segments[:depth]) && matchSegments(segments[:depth], strings.Split(omitted, "/")) {
				return true
			}
		}
	}
	return false
}

func hasStars(segments []string) bool {
	for _, s := range segments {
		if strings.Trim(s, "*") == "" {
			return true
		}
	}
	return false
}

// excludesDir reports whether an exclude glob takes all of a directory: dir, dir/** or something above.
func (f *filter) excludesDir(dir string) bool { return f.exclude.covers(dir) }

// covers asks with names that no glob but one for everything below matches.
func (g globs) covers(dir string) bool {
	for _, p := range g {
		if p.matchBelow(dir+"/\x01") && p.matchBelow(dir+"/\x01/\x01") {
			return true
		}
	}
	return false
}

func hasGitElement(name string) bool {
	return strings.HasPrefix(name, ".git/") || name == ".git" || strings.Contains(name, "/.git/") || strings.HasSuffix(name, "/.git")
}

// mayHold reports whether a file below dir can match one of the globs, so that a walk for them enters it.
func (g globs) mayHold(dir string) bool {
	parts := strings.Split(dir, "/")
	for _, p := range g {
		for _, segments := range p.alternatives {
			if prefixMatches(segments, parts) {
				return true
			}
		}
	}
	return false
}

func prefixMatches(segments, parts []string) bool {
	for i, part := range parts {
		if i == len(segments) {
			return true // below the plain name of a directory, or not: match decides
		}
		if segments[i] == "**" {
			return true
		}
		if !matchSegment(segments[i], part) {
			return false
		}
	}
	return true
}
