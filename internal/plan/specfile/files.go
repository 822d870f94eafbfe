package specfile

import (
	"os"
	"path/filepath"
	"slices"
)

// Root is the directory that the files of a spec are shown relative to, for a spec in dir.
func Root(dir string) string { return rootOf(dir) }

// Paths are the PATHs that load just these absolute files: a directory where they are its whole package. A file of a
// parent directory comes with the package below it.
func Paths(files []string) []string {
	byDir := map[string][]string{}
	pkgs := map[string]string{}
	for _, f := range files {
		dir := filepath.Dir(f)
		byDir[dir] = append(byDir[dir], f)
		pkgs[dir] = packageOf(f)
	}
	var out []string
	for dir, listed := range byDir {
		switch {
		case pkgs[dir] != "" && parent(dir, pkgs):
		case pkgs[dir] != "" && len(packageFiles(dir, pkgs[dir])) == len(listed):
			out = append(out, dir)
		default:
			out = append(out, listed...)
		}
	}
	slices.Sort(out)
	return out
}

// parent reports whether dir holds a part of the package of a directory below it.
func parent(dir string, pkgs map[string]string) bool {
	for d, pkg := range pkgs {
		if d != dir && pkg == pkgs[dir] && within(dir, d) {
			return true
		}
	}
	return false
}

func packageFiles(dir, pkg string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // loading it will say why
	}
	var out []string
	for _, e := range entries {
		if file := filepath.Join(dir, e.Name()); !e.IsDir() && isSpecFile(e.Name()) && packageOf(file) == pkg {
			out = append(out, file)
		}
	}
	return out
}
