package specfile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/inject/embed"

	"github.com/xrun-dev/xrun/internal/plan"
)

// read loads the targets' syntax.
func (l *loader) read(targets []target) []*unit {
	loaded := map[int]*unit{}
	tags := newTagList(l.Tags, l.shelf)
	admission := &admission{loader: l, seen: map[string]bool{}, bad: map[string]bool{}}
	targets = slices.DeleteFunc(targets, func(t target) bool { return !t.explicit && !mentions(t, l.module(t.dir), l.shelf) })
	crowded := l.crowded(targets)
	groups := map[*cueModule][]int{}
	for i, t := range targets {
		m := l.module(t.dir)
		if len(m.problems) > 0 || crowded[t.dir] || !admission.admits(t, m) {
			l.wrong[""] = true
			continue
		}
		if _, ok := m.overlay[filepath.Join(t.dir, "schema.cue")]; ok {
			if t.explicit {
				l.problems = append(l.problems, plan.Problem{File: t.dir, Message: "this is the schema itself, and no experiment"})
			}
			continue
		}
		// The loader reports a tag with a bad value for every package that it loads.
		if t.files == nil && len(l.Tags) == 0 {
			groups[m] = append(groups[m], i)
			continue
		}
		l.guard(t, func() { loaded[i] = loadUnit(t, m, l.shelf, tags.of(t, m.root)) })
	}
	for m, indexes := range groups {
		l.readGroup(targets, m, indexes, loaded)
	}
	var units []*unit
	for i := range targets {
		if loaded[i] != nil {
			units = append(units, loaded[i])
		}
	}
	l.problems = append(l.problems, tags.unused()...)
	return units
}

// sectionWord finds what a package of ours must hold, be it in what it imports.
var sectionWord = regexp.MustCompile(`\b(experiments|hosts|agents|settings|import)\b`)

// mentions reports whether a package that was not named could be one of ours. Other CUE in the repository is not even
// loaded.
func mentions(t target, m *cueModule, s *shelf) bool {
	for _, file := range s.filesOf(t, m) {
		if text, err := readText(file); err == nil && sectionWord.Match(text) {
			return true
		}
	}
	return false
}

// readGroup loads packages of one module, together if that goes without trouble.
func (l *loader) readGroup(targets []target, m *cueModule, indexes []int, loaded map[int]*unit) {
	var together []*unit
	if len(indexes) > 1 {
		group := make([]target, len(indexes))
		for i, n := range indexes {
			group[i] = targets[n]
		}
		l.guard(group[0], func() { together = loadUnits(group, m) })
	}
	for i, n := range indexes {
		if together != nil {
			loaded[n] = together[i]
			continue
		}
		l.guard(targets[n], func() { loaded[n] = loadUnit(targets[n], m, l.shelf, nil) })
	}
}

// module finds the module of a directory; its problems are reported once.
func (l *loader) module(dir string) *cueModule {
	if m, ok := l.modules[dir]; ok {
		return m
	}
	m := findModule(dir, l.Dir)
	if o, ok := l.modules[m.root]; ok {
		l.modules[dir] = o
		return o
	}
	l.modules[m.root] = m
	l.problems = append(l.problems, m.problems...)
	l.spec.Warnings = append(l.spec.Warnings, m.warnings...)
	l.modules[dir] = m
	return m
}

// guard turns a panic of CUE into a problem of the package.
func (l *loader) guard(t target, f func()) {
	defer func() {
		if p := recover(); p != nil {
			hint := "this is a fault of the CUE evaluator; please report it with the package"
			l.problems = append(l.problems, plan.Problem{
				File: t.dir, Suggestion: &hint,
				Message: fmt.Sprintf("package %s cannot be evaluated: %v", t.pkg, p),
			})
		}
	}()
	f()
}

// evaluate evaluates and diagnoses the units, and drops those that are none of ours.
func (l *loader) evaluate() {
	ctx := cuecontext.New(cuecontext.WithInjection(embed.New()))
	l.units = slices.DeleteFunc(l.units, func(u *unit) bool {
		ours := u.declares()
		if !ours && !u.explicit && !u.mayDeclare() {
			return true
		}
		dir := l.rel(u.dir)
		l.current.Store(&dir)
		l.guard(u.target, func() {
			d := &diagnosis{loader: l, unit: u}
			if !u.inventory && (d.strays() || d.embedsOutside()) || d.insideItself() || d.unnamed() || d.numbersOutOfReach() {
				return
			}
			u.evaluate(ctx)
			ours = ours || u.holdsSections()
			if ours || u.explicit && u.inst.Err != nil {
				l.diagnose(ctx, u)
				return
			}
			if u.explicit && !u.inventory && !l.mixed(u) && !d.misspelt() {
				l.report(u, u.firstPos(), nil,
					"this package has no experiments, hosts, agents or settings",
					`experiments begin with: experiments: "name": schema.#Experiment & {…}`)
			}
		})
		return !ours
	})
}

// declares reports whether a file of the unit has one of the sections at its top.
func (u *unit) declares() bool {
	for _, s := range sections {
		if u.source.declares(s.name) {
			return true
		}
	}
	return false
}

// mayDeclare reports whether evaluating the unit could bring a section to light: by an embedding or a comprehension.
func (u *unit) mayDeclare() bool {
	for _, f := range u.source.files {
		for _, d := range f.Decls {
			switch d.(type) {
			case *ast.EmbedDecl, *ast.Comprehension:
				return true
			}
		}
	}
	return false
}

// holdsSections reports whether the value has one of the sections.
func (u *unit) holdsSections() bool {
	for _, s := range sections {
		if u.value.LookupPath(cue.MakePath(cue.Str(s.name))).Exists() {
			return true
		}
	}
	return false
}

// A tagList hands each package the tags that it knows, and remembers which none does.
type tagList struct {
	shelf *shelf
	tags  []string
	used  map[string]bool
}

func newTagList(tags []string, s *shelf) *tagList { return &tagList{s, tags, map[string]bool{}} }

// of is the tags that the files of t mention. CUE calls a tag that a package does not know an error of the package, but
// the tags of one invocation are for all of its packages.
func (l *tagList) of(t target, root string) []string {
	if len(l.tags) == 0 {
		return nil
	}
	var text strings.Builder
	for dir := t.dir; ; dir = filepath.Dir(dir) {
		for _, f := range l.shelf.dir(dir) {
			content, _ := readText(f.path)
			text.Write(content)
		}
		if dir == root || dir == filepath.Dir(dir) {
			break
		}
	}
	known := tagWords(text.String())
	var tags []string
	for _, tag := range l.tags {
		key, _, _ := strings.Cut(tag, "=")
		if known[key] {
			l.used[tag] = true
			tags = append(tags, tag)
		}
	}
	return tags
}

// tagWords are the words in the @tag and @if attributes of a text.
func tagWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, start := range []string{"@tag(", "@if("} {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, start)
			if !ok {
				break
			}
			rest = after
			line, _, _ := strings.Cut(after, "\n")
			for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("()|&!,= \t", r) }) {
				words[w] = true
			}
		}
	}
	return words
}

// unused are problems for the tags that no package knows.
func (l *tagList) unused() []plan.Problem {
	var ps []plan.Problem
	for _, tag := range l.tags {
		if !l.used[tag] {
			key, _, _ := strings.Cut(tag, "=")
			hint := fmt.Sprintf("a field takes it with the attribute @tag(%s)", key)
			ps = append(ps, plan.Problem{Message: "no file uses the tag " + quote(key), Suggestion: &hint})
		}
	}
	return ps
}
