package specfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
	"github.com/xrun-dev/xrun/schema"
)

// cueIsContent runs what a user's editor and CI run, without a network.
func cueIsContent(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"vet", "-c", "."}, {"fmt", "--check", "--files", "."}, {"mod", "tidy", "--check"}} {
		if out, err := cue(t, dir, args...); err != nil {
			t.Errorf("cue %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestInitWritesAPackageThatWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My Experiments")
	wrote, err := specfile.Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cue.mod/module.cue", "cue.mod/pkg/github.com/xrun-dev/xrun/schema/schema.cue", "experiment.cue", "inventory.cue", ".gitignore"}
	if diff := cmp.Diff(want, wrote); diff != "" {
		t.Error(diff)
	}
	s := load(t, specfile.Options{Dir: dir})
	if e := s.Experiments[0]; e.Name != "first-sweep" || len(e.Sweep.Grid) != 2 || len(e.Seeds) != 2 {
		t.Errorf("experiment %+v", e)
	}
	if got := hostNames(s); !slices.Equal(got, []string{"local"}) {
		t.Errorf("hosts = %q", got)
	}
	cueIsContent(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "cue.mod", "module.cue"))
	if err != nil || !strings.Contains(string(text), `"xrun.local/my-experiments@v0"`) {
		t.Errorf("module.cue: %v\n%s", err, text)
	}
	// The inventory is good once its marks are removed.
	name := filepath.Join(dir, "inventory.cue")
	inventory, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, commented, _ := strings.Cut(string(inventory), "package My_Experiments\n")
	var b strings.Builder
	for line := range strings.Lines(commented) {
		b.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
	}
	if err := os.WriteFile(name, []byte(head+"package My_Experiments\n"+b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := hostNames(load(t, specfile.Options{Dir: dir})); !slices.Equal(got, []string{"here", "gpu1", "cluster"}) {
		t.Errorf("hosts = %q", got)
	}
	cueIsContent(t, dir)
}

// The package is named after its directory, or after the package of ours that is there.
func TestInitNamesThePackage(t *testing.T) {
	for dir, want := range map[string]string{
		"lab": "lab", "lr-sweep": "lr_sweep", "2nd try!": "nd_try", "_x_": "x", "Größe": "Gr_e", "a.b--c": "a_b_c",
		"学習": "experiments", "42": "experiments", "for": "experiments", "package": "experiments", "null": "experiments", "in": "experiments", "string": "string",
	} {
		t.Run(dir, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), dir)
			if _, err := specfile.Init(dir); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"experiment.cue", "inventory.cue"} {
				text, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil || !strings.Contains(string(text), "\npackage "+want+"\n") {
					t.Errorf("%s: %v, want package %s:\n%.400s", file, err, want, text)
				}
			}
			load(t, specfile.Options{Dir: dir})
			cueIsContent(t, dir)
		})
	}
	dir := tree(t, "-- hosts.cue --\npackage machines\n\nhosts: h: kind: \"local\"\n")
	if _, err := specfile.Init(dir); err != nil {
		t.Fatal(err)
	}
	if got := hostNames(load(t, specfile.Options{Dir: dir})); !slices.Equal(got, []string{"h"}) {
		t.Errorf("hosts = %q", got)
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	dir := tree(t, "-- inventory.cue --\npackage mine\n-- .gitignore --\n*.o")
	_, err := specfile.Init(dir)
	if err == nil || !strings.Contains(err.Error(), "inventory.cue") || strings.Contains(err.Error(), "experiment.cue") {
		t.Errorf("Init = %v, want the file that is there", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 { // with .git
		t.Errorf("Init wrote something: %v", entries)
	}
}

func TestInitAddsTheIgnoredLineOnce(t *testing.T) {
	for before, after := range map[string]string{
		"*.o":            "*.o\n.xrun/\n",
		"*.o\n":          "*.o\n.xrun/\n",
		"/.xrun\n*.o\n":  "/.xrun\n*.o\n",
		".xrun/\r\n*.o":  ".xrun/\r\n*.o",
		"# .xrun/ not\n": "# .xrun/ not\n.xrun/\n",
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, ".gitignore")
		if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := specfile.Init(dir); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(name); string(got) != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
	}
}

// Below a module that is there already, its copy of the schema is used.
func TestInitInsideAModule(t *testing.T) {
	for name, module := range map[string]string{
		"without the schema": "module: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"with a dependency":  "module: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\ndeps: \"github.com/xrun-dev/xrun@v0\": v: \"v0.1.0\"\n",
		"of the schema":      "module: \"github.com/xrun-dev/xrun@v0\"\nlanguage: version: \"v0.17.0\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "-- cue.mod/module.cue --\n"+module)
			dir := filepath.Join(root, "experiments")
			if _, err := specfile.Init(dir); err != nil {
				t.Fatal(err)
			}
			load(t, specfile.Options{Dir: dir})
			if _, err := os.Stat(filepath.Join(dir, "cue.mod")); err == nil {
				t.Error("a module inside a module")
			}
		})
	}
}

func TestVendor(t *testing.T) {
	module := "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n"
	dir := tree(t, module+"-- sub/exp.cue --\n"+spec("experiments: a: "+minimal)+
		"-- cue.mod/pkg/github.com/xrun-dev/xrun/schema/schema.cue --\npackage schema\n")
	path, err := specfile.Vendor(filepath.Join(dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "cue.mod/pkg/github.com/xrun-dev/xrun/schema/schema.cue"); path != want {
		t.Errorf("Vendor = %s, want %s", path, want)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != schema.Source {
		t.Errorf("the old copy is still there: %v", err)
	}
	if out, err := cue(t, dir, "vet", "-c", "./..."); err != nil {
		t.Errorf("cue vet: %v\n%s", err, out)
	}
	if out, err := cue(t, dir, "mod", "tidy", "--check"); err != nil {
		t.Errorf("cue mod tidy: %v\n%s", err, out)
	}

	dir = tree(t, module+"deps: \"github.com/xrun-dev/xrun@v0\": v: \"v0.1.0\"\n")
	if _, err := specfile.Vendor(dir); err == nil || !strings.Contains(err.Error(), "ambiguous") {
		t.Errorf("Vendor beside a dependency = %v", err)
	}
}

// The check that cue itself makes finds the typing error too, where the file names the schema.
func TestCueVetFindsTypos(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal+" & {sweep: gird: lr: [1]}"))
	if _, err := specfile.Vendor(dir); err != nil {
		t.Fatal(err)
	}
	if out, err := cue(t, dir, "vet", "-c", "."); err == nil || !strings.Contains(out, "gird") {
		t.Errorf("cue vet = %v\n%s", err, out)
	}
}

// The command of the first experiment needs nothing but a shell, and prints its metric.
func TestInitCommandRuns(t *testing.T) {
	dir := t.TempDir()
	if _, err := specfile.Init(dir); err != nil {
		t.Fatal(err)
	}
	e := load(t, specfile.Options{Dir: dir}).Experiments[0]
	values := strings.NewReplacer("{epochs}", "4", "{width}", "64", "{seed}", "1")
	args := make([]string, len(e.Command))
	for i, a := range e.Command {
		args[i] = values.Replace(a)
	}
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil || string(out) != "loss: 0.166\n" {
		t.Errorf("%q = %q, %v", args, out, err)
	}
}

// What the experiment of init suggests to add next can be added as it stands.
func TestInitSuggestsWhatWorks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lab")
	for _, d := range []string{filepath.Join(root, ".git"), filepath.Join(root, "src")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := specfile.Init(dir); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "experiment.cue")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, next, _ := strings.Cut(string(text), "\t// Next,")
	_, next, _ = strings.Cut(next, "\n")
	var fields []string
	for line := range strings.Lines(next) {
		if field, ok := strings.CutPrefix(line, "\t//\t"); ok {
			field, _, _ = strings.Cut(field, "   ")
			fields = append(fields, "\t"+field+"\n")
		}
	}
	if len(fields) < 3 {
		t.Fatalf("suggestions %q", fields)
	}
	if err := os.WriteFile(name, []byte(before+strings.Join(fields, "")+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if e := load(t, specfile.Options{Dir: dir}).Experiments[0]; len(e.Params) != 1 || len(e.Metrics) != 1 || e.Code.Path != "../src" || len(e.Code.Exclude) != 1 {
		t.Errorf("%+v", e)
	}
}
