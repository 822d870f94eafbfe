package specfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"

	"github.com/xrun-dev/xrun/schema"
)

// checkFile begins the name of the file that is put into each package to constrain it by the schema. One evaluation
// then does all the work, four times as fast as unifying with the schema afterwards; and a user's own embedding of a
// definition, which switches off CUE's check for unknown fields, switches off nothing here.
const checkFile = "zz_xrun_check_"

// sections are the fields that a package may have, and the definitions that they must meet.
var sections = []struct{ name, definition string }{
	{"experiments", "#Experiments"},
	{"hosts", "#Hosts"},
	{"agents", "#Agents"},
	{"settings", "#Settings"},
}

// checkText is the text of the check file of one package.
func checkText(pkg string) string {
	text := ""
	if pkg != "" {
		text = "package " + pkg + "\n\n"
	}
	text += fmt.Sprintf("import xrun_schema %q\n\n", schema.Package)
	for _, s := range sections {
		text += s.name + "?: xrun_schema." + s.definition + "\n"
	}
	return text
}

// A unit is one loaded and evaluated package.
type unit struct {
	target
	module *cueModule
	inst   *build.Instance
	value  cue.Value
	source *source
}

// loadUnit reads the package of t. What is wrong with it is in inst.Err.
func loadUnit(t target, m *cueModule, s *shelf, tags []string) *unit {
	cfg := m.config(t.dir, []target{t})
	cfg.Tags = tags
	args := []string{".:" + t.pkg}
	rel, err := filepath.Rel(m.root, t.dir)
	switch {
	case t.files != nil:
		args = append(slices.Clone(t.files), checkName(t))
	case err != nil || !plainPath.MatchString(rel):
		// The loader makes an import path of the directory, and finds nothing if that is not a valid one.
		args = []string{checkName(t)}
		for _, file := range s.filesOf(t, m) {
			if rel, err := filepath.Rel(t.dir, file); err == nil {
				args = append(args, rel)
			}
		}
	}
	return newUnit(t, m, load.Instances(args, cfg)[0])
}

// plainPath matches paths that can be part of an import path.
var plainPath = regexp.MustCompile(`^(\.|[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*)$`)

// loadUnits reads the packages of directories of one module together, which parses and compiles the schema once. It
// returns nil if that does not give one instance for each: then each is to be loaded alone.
func loadUnits(targets []target, m *cueModule) []*unit {
	var args []string
	for _, t := range targets {
		rel, err := filepath.Rel(m.root, t.dir)
		if err != nil || t.files != nil || !plainPath.MatchString(rel) {
			return nil
		}
		args = append(args, "./"+filepath.ToSlash(rel)+":"+t.pkg)
	}
	instances := load.Instances(args, m.config(m.root, targets))
	if len(instances) != len(targets) {
		return nil
	}
	units := make([]*unit, len(targets))
	for i, inst := range instances {
		if inst.Dir != targets[i].dir || inst.PkgName != targets[i].pkg {
			return nil
		}
		units[i] = newUnit(targets[i], m, inst)
	}
	return units
}

// config is that of the loader, with a check file for each target.
func (m *cueModule) config(dir string, targets []target) *load.Config {
	overlay := maps.Clone(m.overlay)
	for _, t := range targets {
		overlay[filepath.Join(t.dir, checkName(t))] = load.FromString(checkText(t.pkg))
	}
	return &load.Config{Dir: dir, ModuleRoot: m.root, Overlay: overlay, Registry: registry{m.virtual}}
}

func checkName(t target) string { return checkFile + t.pkg + ".cue" }

func newUnit(t target, m *cueModule, inst *build.Instance) *unit {
	u := &unit{target: t, module: m, inst: inst}
	var files []*ast.File
	for _, f := range inst.Files {
		if !m.ours(f.Filename) {
			files = append(files, f)
		}
	}
	u.source = newSource(files)
	return u
}

// evaluate builds the value. The error, if any, is in inst.Err or in the value.
func (u *unit) evaluate(ctx *cue.Context) {
	if u.inst.Err == nil {
		u.value = ctx.BuildInstance(u.inst)
	}
}
