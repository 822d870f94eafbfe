package specfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/mod/modfile"

	"github.com/xrun-dev/xrun/schema"
)

// hinted is an error that says what to do.
type hinted struct {
	error
	hint string
}

// Hint says what to do.
func (e hinted) Hint() string { return e.hint }

func (e hinted) Unwrap() error { return e.error }

// Vendor writes the schema into the CUE module that holds dir, so that cue itself finds it without a network, and
// returns the file's path. Where there is no module it makes one in dir.
func Vendor(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root := upwards(dir, "cue.mod")
	if root == "" {
		root = dir
	}
	name := filepath.Join(root, "cue.mod", "module.cue")
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := write(name, newModule(root)); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		file, err := modfile.Parse(text, name)
		switch {
		case err != nil:
			return "", fmt.Errorf("read %s: %w", name, err)
		case file.Module == schema.Module:
			return "", hinted{fmt.Errorf("%s is the module of the schema itself", root), "nothing is to be done there"}
		case file.Deps[schema.Module] != nil:
			return "", hinted{
				fmt.Errorf("%s has the dependency %s already: with a copy the import would be ambiguous", name, schema.Module),
				"remove the dependency, or go without the copy",
			}
		}
	}
	path := filepath.Join(root, vendorDir, "schema.cue")
	return path, write(path, schema.Source)
}

// hasSchema reports whether the module at root is, or depends on, that of the schema, or has a copy of it.
func hasSchema(root string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(root, vendorDir, "schema.cue")); err == nil {
		return true, nil
	}
	name := filepath.Join(root, "cue.mod", "module.cue")
	text, err := os.ReadFile(name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	file, err := modfile.Parse(text, name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return file.Module == schema.Module || file.Deps[schema.Module] != nil, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// newModule is the text of a module file, named after the directory.
func newModule(root string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_', r == '.', r == ' ':
			return '-'
		}
		return -1
	}, filepath.Base(root))
	if name = strings.Trim(name, "-"); name == "" {
		name = "experiments"
	}
	return fmt.Sprintf("module: \"xrun.local/%s@v0\"\nlanguage: version: %q\n", name, languageVersion)
}

// write writes a file, whole or not at all, and the directories above it.
func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, inner(err)), os.Remove(f.Name()))
	}
	return nil
}
