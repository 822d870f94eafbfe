package specfile

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

//go:embed template/experiment.cue
var experimentTemplate string

//go:embed template/inventory.cue
var inventoryTemplate string

const (
	ignoreFile = ".gitignore"
	ignoreLine = ".xrun/"
	// anyPackage is the name of a package whose directory's name gives none.
	anyPackage     = "experiments"
	templateClause = "\npackage " + anyPackage + "\n"
)

// Init writes a package that works at once into dir: a module with the schema, an experiment, an inventory to fill in,
// and the line that keeps the state directory out of git. It returns the files that it wrote or changed, relative to
// dir. It overwrites nothing: if one of the files is there, it names them and writes none.
func Init(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	clause := "\npackage " + packageName(dir) + "\n"
	files := []struct{ name, text string }{
		{"experiment.cue", strings.Replace(experimentTemplate, templateClause, clause, 1)},
		{"inventory.cue", strings.Replace(inventoryTemplate, templateClause, clause, 1)},
	}
	var taken []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			taken = append(taken, f.name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "cue.mod")); err == nil {
		taken = append(taken, "cue.mod")
	}
	if len(taken) > 0 {
		return nil, hinted{
			fmt.Errorf("%s already has %s", dir, strings.Join(taken, ", ")),
			"choose another directory: xrun init DIR; `xrun schema --vendor` writes only the schema",
		}
	}
	wrote, err := initModule(dir)
	if err != nil {
		return wrote, err
	}
	for _, f := range files {
		if err := write(filepath.Join(dir, f.name), f.text); err != nil {
			return wrote, err
		}
		wrote = append(wrote, f.name)
	}
	changed, err := ignore(filepath.Join(dir, ignoreFile))
	if changed {
		wrote = append(wrote, ignoreFile)
	}
	return wrote, err
}

// packageName is the package that dir has for experiments, or a name made from that of the directory.
func packageName(dir string) string {
	disk := newShelf()
	for _, p := range disk.packages(dir) {
		if disk.holdsSpec(dir, p.name) {
			return p.name
		}
	}
	var b strings.Builder
	for _, r := range filepath.Base(dir) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimSuffix(b.String(), "_")
	if !ast.IsValidIdent(name) || token.Lookup(name).IsKeyword() || name == "package" || name == "import" {
		return anyPackage
	}
	return name
}

// initModule makes a module in dir with the schema in it, or sees to it that the module around dir has the schema.
func initModule(dir string) (wrote []string, err error) {
	root := upwards(dir, "cue.mod")
	if root == "" {
		if err := write(filepath.Join(dir, "cue.mod", "module.cue"), newModule(dir)); err != nil {
			return nil, err
		}
		root, wrote = dir, []string{"cue.mod/module.cue"}
	}
	if has, err := hasSchema(root); err != nil || has {
		return wrote, err
	}
	path, err := Vendor(dir)
	if err != nil {
		return wrote, err
	}
	rel, err := filepath.Rel(dir, path)
	return append(wrote, filepath.ToSlash(rel)), err
}

// ignore adds the state directory to a .gitignore, once.
func ignore(name string) (changed bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.Trim(strings.TrimSpace(line), "/") == strings.Trim(ignoreLine, "/") {
			return false, nil
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return true, os.WriteFile(name, append(text, ignoreLine+"\n"...), 0o644)
}
