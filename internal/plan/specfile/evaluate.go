package specfile

import (
	"fmt"
	"maps"
	"path/filepath"

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
func loadUnit(t target, m *cueModule, tags []string) *unit {
	cfg := &load.Config{
		Dir:        t.dir,
		ModuleRoot: m.root,
		Overlay:    maps.Clone(m.overlay),
		Registry:   registry{m.virtual},
		Tags:       tags,
	}
	check := checkFile + t.pkg + ".cue"
	cfg.Overlay[filepath.Join(t.dir, check)] = load.FromString(checkText(t.pkg))
	args := []string{".:" + t.pkg}
	if t.files != nil {
		args = append(append([]string{}, t.files...), check)
	}
	u := &unit{target: t, module: m, inst: load.Instances(args, cfg)[0]}
	var files []*ast.File
	for _, f := range u.inst.Files {
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
