package specfile

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed template/experiment.cue
var experimentTemplate string

//go:embed template/inventory.cue
var inventoryTemplate string

const (
	ignoreFile = ".gitignore"
	ignoreLine = ".xrun/"
)

// Init writes a package that works at once into dir: a module with the schema, an experiment, an inventory to fill in,
// and the line that keeps the state directory out of git. It returns the files that it wrote or changed, relative to
// dir. It overwrites nothing: if one of the files is there, it names them and writes none.
func Init(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files := []struct{ name, text string }{
		{"experiment.cue", experimentTemplate},
		{"inventory.cue", inventoryTemplate},
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
