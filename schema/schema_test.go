package schema_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"cuelang.org/go/cmd/cue/cmd"

	"github.com/xrun-dev/xrun/schema"
)

// asCue makes this binary behave as the cue command.
const asCue = "XRUN_TEST_AS_CUE"

func TestMain(m *testing.M) {
	if os.Getenv(asCue) != "" {
		os.Exit(cmd.Main())
	}
	os.Exit(m.Run())
}

// cue runs the cue command in dir, where no registry answers.
func cue(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), asCue+"=1", "CUE_REGISTRY=none", "CUE_CACHE_DIR="+t.TempDir())
	out, err := c.CombinedOutput()
	return string(out), err
}

// CUE reports a mistake in the schema only where a value is made concrete, so that a user would be the first to see it.
func TestSchemaIsGoodCUE(t *testing.T) {
	for _, args := range [][]string{{"vet", "-c", "."}, {"fmt", "--check", "."}} {
		if out, err := cue(t, ".", args...); err != nil {
			t.Errorf("cue %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestPackageLiesInTheModule(t *testing.T) {
	module, err := os.ReadFile("../cue.mod/module.cue")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), `module: "`+schema.Module+`"`) {
		t.Errorf("module.cue is not of %s:\n%s", schema.Module, module)
	}
	path, _, _ := strings.Cut(schema.Module, "@")
	if want := path + "/schema"; schema.Package != want {
		t.Errorf("Package = %s, want %s", schema.Package, want)
	}
	if !strings.Contains(schema.Source, "\npackage schema\n") {
		t.Error("the text is not of package schema")
	}
}

// What a leaf allows is said in one message at the user's line, without the noise of the other branches.
func TestLeavesSayWhatIsAllowed(t *testing.T) {
	const head = "package exp\n\nimport \"github.com/xrun-dev/xrun/schema\"\n\nx: schema."
	dir := t.TempDir()
	for value, want := range map[string]string{
		`#Needs & {gpus: "two"}`:                    "gpus is a whole number from 0 to 64",
		`#Limits & {trial: "5"}`:                    "trial is a duration like",
		`#Host & {kind: "slrum"}`:                   "kind is local, ssh or slurm",
		`#Host & {kind: "ssh", address: "-oX=y"}`:   "address is a host name",
		`#Host & {kind: "local", address: "h"}`:     "field not allowed",
		`#Needs & {gpu_memory: "20 GB"}`:            "gpu_memory is a size like",
		`#Sweep & {grid: lr: []}`:                   "an axis is a non-empty list",
		`#Dist & {dist: "uniform", min: 1, max: 1}`: "max is a number above min",
		`#Experiments & {"A b": {}}`:                "an experiment name is lower-case letters",
		`#Criteria & {confidence: 1}`:               "confidence is a number between 0.5 and 1",
	} {
		text := head + value + "\n"
		for name, content := range map[string]string{
			"exp.cue":            text,
			"cue.mod/module.cue": "module: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n",
			"cue.mod/pkg/" + schema.Package + "/schema.cue": schema.Source,
		} {
			name = dir + "/" + name
			if err := os.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := cue(t, dir, "vet", "-c", ".")
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q in:\n%s", value, err, want, out)
		}
		if n := strings.Count(out, "errors in empty disjunction"); n > 0 {
			t.Errorf("%s: more than one message:\n%s", value, out)
		}
	}
}
