package specfile_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// What is no file, or too large for one, is said to be so; it is never waited for and never read to its end.
func TestWhatIsNoFileIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		place func(name string) error
		want  string
	}{
		"a named pipe":     {func(name string) error { return syscall.Mkfifo(name, 0o600) }, "this is a named pipe, not a file"},
		"a socket":         {socket, "this is a socket, not a file"},
		"a device":         {func(name string) error { return os.Symlink("/dev/zero", name) }, "this is a device, not a file"},
		"a circle":         {func(name string) error { return os.Symlink(filepath.Base(name), name) }, "this link leads in a circle"},
		"a dangling link":  {func(name string) error { return os.Symlink("nowhere", name) }, "this link leads nowhere"},
		"a link to itself": {func(name string) error { return os.Symlink(".", name) }, "this is a directory, not a file"},
		"a large file": {func(name string) error {
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(300 << 20)
		}, "this file has 300 MiB, and 16 MiB are the most that is read"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range []struct {
				at, main string
				o        specfile.Options
			}{
				{"exp/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp"}}},
				{"exp/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"./..."}}},
				{"x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp"}}}, // a parent directory may hold a part of the package
				{"lib/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp"}}},
				{"cue.mod/pkg/example.org/dep/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp/exp.cue"}}},
				{"hosts/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp"}, Inventory: "hosts"}},
				{"hosts/x.cue", "exp/exp.cue", specfile.Options{Paths: []string{"exp"}, Inventory: "hosts/x.cue"}},
			} {
				dir := tree(t, "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n"+
					"-- lib/lib.cue --\npackage lib\n\nimport \"example.org/dep\"\n\nword: dep.word\n-- cue.mod/pkg/example.org/dep/dep.cue --\npackage dep\n\nword: \"x\"\n"+
					"-- hosts/h.cue --\nhosts: h: kind: \"local\"\n"+
					"-- "+o.main+" --\npackage exp\n\nimport (\n\t\"example.com/x/lib\"\n\t\"github.com/xrun-dev/xrun/schema\"\n)\n\nexperiments: a: "+minimal+" & {description: lib.word}\n")
				if err := c.place(filepath.Join(dir, filepath.FromSlash(o.at))); err != nil {
					t.Fatal(err)
				}
				o.o.Dir = dir
				begin := time.Now()
				want := o.at + ": " + c.want + "\n"
				switch {
				case o.o.Inventory == o.at && name == "a dangling link":
					want = o.at + ": no such inventory\n"
				case o.o.Inventory == o.at && name == "a link to itself": // a directory, which holds the link again
					want = o.at + "/x.cue: " + c.want + "\n"
				}
				if got := messages(t, o.o); !strings.HasPrefix(got, want) {
					t.Errorf("%s, %+v:\n%s", o.at, o.o, got)
				}
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("%s took %v", o.at, took)
				}
			}
		})
	}
}

func socket(name string) error {
	// The path of a socket is short; the one of a test need not be.
	dir, err := os.MkdirTemp("", "x")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return os.Rename(filepath.Join(dir, "s"), name)
}

// A directory that only looks like a file, and a link to the directory above, change nothing.
func TestDirectoriesNamedLikeFiles(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal)+"-- x.cue/readme --\n\n")
	if err := os.Symlink(".", filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{nil, {"./..."}, {"again/again/again"}} {
		if s := load(t, specfile.Options{Dir: dir, Paths: paths}); len(s.Experiments) != 1 {
			t.Errorf("%q: %v", paths, experimentNames(s))
		}
	}
}

// Imported packages, embedded files and modules that replace others come from the repository.
func TestNothingIsReadFromOutside(t *testing.T) {
	const module = "-- repo/cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n"
	exp := func(path, name string) string {
		return "-- repo/exp.cue --\npackage exp\n\nimport \"" + path + "\"\n\nexperiments: a: {command: [" + name + ".hush], objective: {metric: \"m\", direction: \"minimize\"}}\n"
	}
	secret := func(name string) string { return "package " + name + "\n\nhush: \"the secret\"\n" }
	for name, c := range map[string]struct {
		files    string
		link, to string
		want     string
	}{
		"a file": {
			module + exp("example.com/x/lib", "lib") + "-- secret/s.cue --\n" + secret("lib") + "-- repo/lib/none.cue --\npackage lib\n",
			"repo/lib/s.cue", "../../secret/s.cue", "lib/s.cue: this link leads out of the repository",
		},
		"a directory": {
			module + exp("example.com/x/lib", "lib") + "-- secret/s.cue --\n" + secret("lib"),
			"repo/lib", "../secret", "lib/s.cue: this file lies outside of the repository",
		},
		"a vendored package": {
			module + exp("example.org/dep", "dep") + "-- secret/s.cue --\n" + secret("dep") + "-- repo/cue.mod/pkg/example.org/none --\n\n",
			"repo/cue.mod/pkg/example.org/dep", "../../../../secret", "s.cue: this file lies outside of the repository",
		},
		"a module in the place of another": {
			module + "deps: \"example.org/dep@v0\": v: \"v0.0.1\"\n" + exp("example.org/dep", "dep") + "-- secret/s.cue --\n" + secret("dep") +
				"-- secret/cue.mod/module.cue --\nmodule: \"example.org/dep@v0\"\nlanguage: version: \"v0.17.0\"\n" +
				"-- repo/cue.mod/local-module.cue --\ndeps: \"example.org/dep@v0\": replaceWith: \"../secret\"\n",
			"", "", "cue.mod/local-module.cue:1:42: replaceWith: this module lies outside of the repository",
		},
		"the same, behind a link": {
			module + "deps: \"example.org/dep@v0\": v: \"v0.0.1\"\n" + exp("example.org/dep", "dep") + "-- secret/s.cue --\n" + secret("dep") +
				"-- secret/cue.mod/module.cue --\nmodule: \"example.org/dep@v0\"\nlanguage: version: \"v0.17.0\"\n" +
				"-- repo/cue.mod/local-module.cue --\ndeps: \"example.org/dep@v0\": replaceWith: \"./in\"\n",
			"repo/in", "../secret", "cue.mod/local-module.cue:1:42: replaceWith: this module lies outside of the repository",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			repo := filepath.Join(dir, "repo")
			if err := os.Rename(filepath.Join(dir, ".git"), filepath.Join(repo, ".git")); err != nil {
				t.Fatal(err)
			}
			if c.link != "" {
				if err := os.Symlink(c.to, filepath.Join(dir, filepath.FromSlash(c.link))); err != nil {
					t.Fatal(err)
				}
			}
			if got := messages(t, specfile.Options{Dir: repo}); !strings.Contains(got, c.want) || strings.Contains(got, "the secret") {
				t.Errorf("%s", got)
			}
		})
	}
	t.Run("a module within the repository", func(t *testing.T) {
		dir := tree(t, "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\ndeps: \"example.org/dep@v0\": v: \"v0.0.1\"\n"+
			"-- cue.mod/local-module.cue --\ndeps: \"example.org/dep@v0\": replaceWith: \"./dep\"\n-- dep/cue.mod/module.cue --\nmodule: \"example.org/dep@v0\"\nlanguage: version: \"v0.17.0\"\n"+
			"-- dep/s.cue --\n"+secret("dep")+strings.ReplaceAll(exp("example.org/dep", "dep"), "repo/", ""))
		if got := load(t, specfile.Options{Dir: dir}).Experiments[0].Command[0]; got != "the secret" {
			t.Errorf("command %q", got)
		}
	})
}

// A crowd of packages in one directory is told, as far as it is asked for; a crowd of files is none.
func TestCrowdedDirectories(t *testing.T) {
	files := func(dir, text string, n int) {
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.cue", i)), []byte(strings.ReplaceAll(text, "N", fmt.Sprint(i))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := "-- exp.cue --\n" + spec("experiments: a: "+minimal)
	for name, text := range map[string]string{"packages": "package pN\n", "files without a package clause": "x: N\n"} {
		dir := tree(t, one)
		files(dir, text, 600)
		if got := messages(t, specfile.Options{Dir: dir}); !strings.HasPrefix(got, ".: this directory holds 601 packages") || !strings.Contains(got, "= name the files") {
			t.Errorf("%s: %s", name, got)
		}
		load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}})
		load(t, specfile.Options{Dir: dir, Paths: []string{"exp.cue"}})
	}
	dir := tree(t, one)
	files(dir, "package exp\n", 600)
	if s := load(t, specfile.Options{Dir: dir}); len(s.Files) != 601 {
		t.Errorf("%d files", len(s.Files))
	}
}

// A copy of the schema from another version is used by cue and editors only, which a warning says; one with the line ends
// of another system is the same.
func TestStaleCopyIsAWarning(t *testing.T) {
	dir := tree(t, "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n-- a/exp.cue --\n"+spec("experiments: a: "+minimal)+"-- b/exp.cue --\n"+spec("experiments: b: "+minimal))
	path, err := specfile.Vendor(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want int
	}{{string(text), 0}, {strings.ReplaceAll(string(text), "\n", "\r\n"), 0}, {string(text) + "#New: int\n", 1}, {"package schema\n", 1}} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		warnings := load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}}).Warnings
		if len(warnings) != c.want || c.want > 0 && !strings.Contains(*warnings[0].Suggestion, "xrun schema --vendor") {
			t.Errorf("%.40q: %v", c.text, warnings)
		}
	}
}

// A pipe beside the files, whatever its name, is not opened; embedding it is a problem.
func TestPipesBesideTheFiles(t *testing.T) {
	for _, name := range []string{"p.txt", "p.json", "p.yaml", "p", "lib/p.json", "../p.toml"} {
		dir := tree(t, "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n-- exp/lib/lib.cue --\npackage lib\n\nx: \"x\"\n"+
			"-- exp/exp.cue --\npackage exp\n\nimport \"example.com/x/exp/lib\"\n\nexperiments: a: {command: [lib.x], objective: {metric: \"m\", direction: \"minimize\"}}\n")
		if err := syscall.Mkfifo(filepath.Join(dir, "exp", filepath.FromSlash(name)), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for _, paths := range [][]string{{"exp"}, {"./..."}} {
			if _, err := specfile.Load(ctx, specfile.Options{Dir: dir, Paths: paths}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	for _, attr := range []string{"file=p.txt", "glob=*.txt"} {
		dir := tree(t, "-- exp.cue --\n@extern(embed)\n\n"+spec("_x: _ @embed("+attr+",type=text)\nexperiments: a: "+minimal))
		if err := syscall.Mkfifo(filepath.Join(dir, "p.txt"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := messages(t, specfile.Options{Dir: dir}); !strings.HasPrefix(got, "exp.cue:7:7: what is embedded here is not read: this is a named pipe") {
			t.Error(got)
		}
	}
}
