package specfile_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// Beside a package of other things, the files of ours are named and not their directory, where that would be a mistake.
func TestFilesBesideAnotherPackageAreNamed(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal)+"-- other.cue --\npackage other\n")
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}})
	paths := specfile.Paths(s.AbsFiles)
	if want := []string{filepath.Join(dir, "exp.cue")}; !slices.Equal(paths, want) {
		t.Errorf("Paths = %q, want %q", paths, want)
	}
	load(t, specfile.Options{Dir: dir, Paths: paths})
}

// Packages that each have something of ours may share a directory, also one that is named.
func TestPackagesOfOursMayShareADirectory(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal)+"-- hosts.cue --\npackage machines\n\nhosts: h: kind: \"local\"\n")
	if got := hostNames(load(t, specfile.Options{Dir: dir})); !slices.Equal(got, []string{"h"}) {
		t.Errorf("hosts = %q", got)
	}
}
