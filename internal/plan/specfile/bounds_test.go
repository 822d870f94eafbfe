package specfile_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// alone runs the test in a process of its own and reports whether this is that process: an evaluation that is given up
// goes on until the process ends.
func alone(t *testing.T) bool {
	t.Helper()
	const mark = "XRUN_TEST_ALONE"
	if os.Getenv(mark) != "" {
		return true
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), mark+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s", err, out)
	}
	return false
}

// Evaluation ends with the context, and when it needs too much memory.
func TestEvaluationIsBounded(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := tree(t, "-- exp.cue --\n"+spec(`import "list"
_n: list.Range(0, 400, 1)
experiments: a: `+minimal+` & {description: "\(len([for i in _n for j in _n for k in _n {i*j*k}]))"}`))
	text, _ := os.ReadFile(filepath.Join(dir, "exp.cue"))
	fixed := strings.Replace(strings.Replace(string(text), "import \"list\"\n", "", 1), "import \"github", "import \"list\"\nimport \"github", 1)
	if err := os.WriteFile(filepath.Join(dir, "exp.cue"), []byte(fixed), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := specfile.Load(ctx, specfile.Options{Dir: dir})
	if problems, ok := errors.AsType[specfile.Problems](err); !ok || problems[0].Message != "the evaluation takes too long" || problems[0].Suggestion == nil {
		t.Errorf("Load = %v, want a problem about time", err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := specfile.Load(ctx, specfile.Options{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v, want the context's error", err)
	}
	_, err = specfile.Load(t.Context(), specfile.Options{Dir: dir, MaxMemory: 64 << 20})
	if problems, ok := errors.AsType[specfile.Problems](err); !ok || !strings.Contains(problems[0].Message, "more than 64 MiB") || problems[0].File != "." {
		t.Errorf("Load = %v, want a problem about memory", err)
	}
}

// Recursion is told as a problem of the package, before the runtime ends the process for it.
func TestRecursionIsAProblem(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := tree(t, "-- sub/exp.cue --\n"+spec("_e: experiments\n_e\nexperiments: a: "+minimal))
	got := messages(t, specfile.Options{Dir: dir, Paths: []string{"sub"}})
	if !strings.HasPrefix(got, "sub: the evaluation recurses without end\n") {
		t.Error(got)
	}
}

// Embedded files are read if they lie in the repository, also where a link leads to them.
func TestEmbeddedFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for at, good := range map[string]bool{
		"file=text.txt,type=text": true, "file=in.txt,type=text": true, "file=\"out.txt\",type=text": false, "file=dir/secret.txt,type=text": false,
		"glob=*.txt,type=text": false, "glob=t*.txt,type=text": true,
	} {
		dir := tree(t, "-- text.txt --\nhello\n-- exp.cue --\n@extern(embed)\n\n"+spec("_x: _ @embed("+at+")\nexperiments: a: "+minimal+" & {labels: [string]: string, if (_x & string) != _|_ {description: _x}}"))
		for link, to := range map[string]string{"out.txt": outside, "in.txt": "text.txt", "dir": filepath.Dir(outside)} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if good {
			s := load(t, specfile.Options{Dir: dir})
			if d := s.Experiments[0].Description; strings.HasPrefix(at, "file") && d != "hello\n" {
				t.Errorf("%s: description %q", at, d)
			}
			continue
		}
		if got := messages(t, specfile.Options{Dir: dir}); !strings.Contains(got, "leads out of the repository") || strings.Contains(got, "= secret") {
			t.Errorf("%s: %s", at, got)
		}
	}
}

// A link that leads out of the repository is not read: its lines would be shown.
func TestLinksOutOfTheRepository(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal))
	if err := os.Symlink(secret, filepath.Join(dir, "link.cue")); err != nil {
		t.Fatal(err)
	}
	got := messages(t, specfile.Options{Dir: dir})
	if strings.Contains(got, "secret\n") || !strings.Contains(got, "link.cue: this link leads out of the repository") {
		t.Error(got)
	}
}

// While a spec is evaluated garbage is collected less often; afterwards as before, and as a user wants it always.
func TestLoadingLeavesTheCollectorAsItWas(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal))
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	for _, percent := range []int{100, 50} {
		debug.SetGCPercent(percent)
		if _, err := specfile.Load(t.Context(), specfile.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if after := debug.SetGCPercent(100); after != percent {
			t.Errorf("the collector was at %d, and is at %d", percent, after)
		}
	}
}
