package specfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/xrun-dev/xrun/internal/plan"
)

// A target is one CUE package to load: a directory, or some files of one.
type target struct {
	dir   string
	pkg   string   // "" for files without a package clause
	files []string // base names; nil is the package of the directory, with what parent directories add to it
	// explicit targets were named by the user: that they hold nothing of ours is a problem.
	explicit bool
	// found files have no package clause and were not named, but their directory was.
	found bool
	// inventory targets hold hosts, agents and settings only.
	inventory bool
}

// notOurs are directories that ./... never enters, beside hidden ones.
func notOurs(name string) bool {
	return name == "cue.mod" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// isSpecFile reports whether a directory's package includes the file, as CUE has it.
func isSpecFile(name string) bool {
	return strings.HasSuffix(name, ".cue") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") &&
		!strings.HasSuffix(name, "_tool.cue") && !strings.HasSuffix(name, "_test.cue")
}

// A finder turns PATHs into targets, each once, in the order of the PATHs.
type finder struct {
	base    string // what relative PATHs start from
	shelf   *shelf
	index   map[string]int // of targets, by what makes them the same package
	targets []target
	first   string // the directory of the first PATH that holds a package
	// problems of paths; their File is as the user wrote it.
	problems []plan.Problem
}

// find adds what one PATH names.
func (f *finder) find(path string) error {
	if dir, ok := cutDots(path); ok {
		err := f.walk(path, f.abs(dir))
		f.begin(f.abs(dir))
		return err
	}
	abs := f.abs(path)
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		f.problem(path, "no such file or directory", "name a directory or a file of CUE, or ./... for everything below here")
		return nil
	case errors.Is(err, syscall.ELOOP):
		f.problem(path, "this link leads in a circle", "remove it")
		return nil
	case err != nil:
		return err
	case info.IsDir():
		err := f.directory(path, abs, true)
		f.begin(abs)
		return err
	case !strings.HasSuffix(abs, ".cue"):
		f.problem(path, "not a CUE file", "name a directory or a file that ends in .cue")
		return nil
	}
	if u := unfitness(abs); u != nil {
		f.problem(path, u.message, u.hint)
		return nil
	}
	f.file(abs, true, false)
	f.begin(filepath.Dir(abs))
	return nil
}

// begin remembers the directory of the first PATH that brought a package.
func (f *finder) begin(dir string) {
	if f.first == "" && len(f.targets) > 0 {
		f.first = dir
	}
}

// cutDots splits "dir/..." into dir.
func cutDots(path string) (string, bool) {
	p := filepath.ToSlash(path)
	if p == "..." {
		return ".", true
	}
	dir, ok := strings.CutSuffix(p, "/...")
	if ok && dir == "" {
		dir = "/"
	}
	return filepath.FromSlash(dir), ok
}

func (f *finder) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.base, path)
}

func (f *finder) problem(path, message, suggestion string) {
	f.problems = append(f.problems, plan.Problem{File: path, Message: message, Suggestion: &suggestion})
}

// walk adds every package below root. Links are not followed: they could leave the repository, or lead in circles.
func (f *finder) walk(path, root string) error {
	found := len(f.targets)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if p != root && notOurs(d.Name()) {
			return filepath.SkipDir
		}
		return f.directory(p, p, false)
	})
	if errors.Is(err, fs.ErrNotExist) {
		f.problem(root, "no such file or directory", "name a directory that exists")
		return nil
	}
	if err == nil && found == len(f.targets) {
		f.problem(root, "no CUE package here or below", "`xrun init` writes one that works")
	}
	return err
}

// directory adds the packages of one directory.
func (f *finder) directory(path, abs string, explicit bool) error {
	if dir, err := os.Open(abs); err != nil {
		return err
	} else if err := dir.Close(); err != nil {
		return err
	}
	var anonymous []string
	any := false
	for _, e := range f.shelf.dir(abs) {
		if !isSpecFile(e.name) {
			continue
		}
		any = true
		switch {
		case e.unfit != nil:
			if explicit { // else it is told with the packages that it lies beside, if one is ours
				f.problem(e.path, e.unfit.message, e.unfit.hint)
			}
		case e.pkg == "":
			anonymous = append(anonymous, e.name)
		default:
			f.add(target{dir: abs, pkg: e.pkg, explicit: explicit})
		}
	}
	switch {
	case !any && explicit:
		f.problem(path, "no CUE files in this directory", "name the directory of the package, or ./... for everything below here")
	case len(anonymous) > 0:
		// Files without a package clause belong to no package, so each counts alone.
		for _, name := range anonymous {
			f.add(target{dir: abs, files: []string{name}, explicit: explicit, found: true})
		}
	}
	return nil
}

// file adds one file, to the files of the same package that were named before.
func (f *finder) file(abs string, explicit, inventory bool) {
	dir, name := filepath.Split(abs)
	t := target{dir: filepath.Clean(dir), pkg: packageOf(abs), files: []string{name}, explicit: explicit, inventory: inventory}
	if i, ok := f.index[t.key()]; ok && t.pkg != "" {
		if o := &f.targets[i]; o.files != nil && !slices.Contains(o.files, name) {
			o.files = append(o.files, name)
		}
		return
	}
	f.add(t)
}

// inventory adds the files of further hosts: at path, or else in the user's configuration directory.
func (f *finder) inventory(path, userConfig string) error {
	abs := filepath.Join(userConfig, "xrun")
	if path != "" {
		abs = f.abs(path)
	} else if userConfig == "" {
		return nil
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == "":
		return nil
	case errors.Is(err, syscall.ELOOP):
		f.problem(path, "this link leads in a circle", "remove it")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		f.problem(path, "no such inventory", "name a file of CUE, or a directory of such files")
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		f.hosts(abs, unfitness(abs))
		return nil
	}
	for _, e := range f.shelf.dir(abs) {
		if isSpecFile(e.name) {
			f.hosts(e.path, e.unfit)
		}
	}
	return nil
}

// hosts adds one file of the inventory.
func (f *finder) hosts(file string, u *unfit) {
	if u != nil {
		f.problem(file, u.message, u.hint)
		return
	}
	f.file(file, true, true)
}

// add keeps each package once: a directory covers the files of its package.
func (f *finder) add(t target) {
	if i, ok := f.index[t.key()]; ok {
		o := &f.targets[i]
		o.explicit = o.explicit || t.explicit
		if t.files == nil {
			o.files = nil
		}
		return
	}
	f.index[t.key()] = len(f.targets)
	f.targets = append(f.targets, t)
}

// key tells packages apart. Files without a package clause each are one.
func (t target) key() string {
	parts := []string{t.dir, t.pkg, fmt.Sprint(t.inventory)}
	if t.pkg == "" {
		parts = append(parts, t.files...)
	}
	return key(parts)
}

// upwards is the first directory from dir up that holds an entry of that name; "" if none does.
func upwards(dir, name string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// rootOf is the directory that paths are shown relative to: of the git repository, of the CUE module, or dir itself.
func rootOf(dir string) string {
	return cmp.Or(upwards(dir, ".git"), upwards(dir, "cue.mod"), dir)
}
