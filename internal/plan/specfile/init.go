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
// dir. It overwrites nothing: if one of the files is there, it names them and writes none. If it cannot write all of them,
// it leaves none behind: the next attempt would be told that they are there.
func Init(dir string) (wrote []string, err error) {
	dir, err = filepath.Abs(dir)
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
		return nil, alreadyHas(dir, taken...)
	}
	if wrote, err = initModule(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			undo(dir, wrote)
			wrote = nil
		}
	}()
	for _, f := range files {
		if err := write(filepath.Join(dir, f.name), f.text); err != nil {
			return wrote, err
		}
		wrote = append(wrote, f.name)
	}
	changed, err := ignore(filepath.Join(dir, ignoreFile))
	if changed && err == nil {
		wrote = append(wrote, ignoreFile)
	}
	return wrote, err
}

func alreadyHas(dir string, names ...string) error {
	return hinted{
		fmt.Errorf("%s already has %s", dir, strings.Join(names, ", ")),
		"choose another directory: xrun init DIR; `xrun schema --vendor` writes only the schema",
	}
}

// undo removes what Init has written: files of its own, and cue.mod if that is one of them.
func undo(dir string, wrote []string) {
	for _, name := range wrote {
		if name == moduleFile {
			os.RemoveAll(filepath.Join(dir, "cue.mod"))
		}
		os.Remove(filepath.Join(dir, filepath.FromSlash(name)))
	}
}

// moduleFile is what makes a directory a module.
const moduleFile = "cue.mod/module.cue"

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
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		// Of two that begin at once, one makes this directory; it is the one that may remove it again.
		if err := os.Mkdir(filepath.Join(dir, "cue.mod"), 0o755); errors.Is(err, fs.ErrExist) {
			return nil, alreadyHas(dir, "cue.mod")
		} else if err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				undo(dir, []string{moduleFile})
			}
		}()
		if err := write(filepath.Join(dir, moduleFile), newModule(dir)); err != nil {
			return nil, err
		}
		root, wrote = dir, []string{moduleFile}
	}
	if has, err := hasSchema(root); err != nil || has {
		return wrote, err
	}
	path, err := Vendor(dir)
	if err != nil {
		return nil, err
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
	for l := range strings.Lines(string(text)) {
		if strings.Trim(strings.TrimSpace(l), "/") == strings.Trim(ignoreLine, "/") {
			return false, nil
		}
	}
	line := ignoreLine + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) // what is in it stays, whatever happens
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(line)
	return true, errors.Join(err, f.Close())
}
