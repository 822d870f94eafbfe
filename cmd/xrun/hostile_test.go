package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/citest"
)

// A stranger is a world with a repository of somebody else in it. Everything in it that could run leaves a mark.
type stranger struct {
	*testing.T
	dir, repo, marks string
	port             int
	connected        atomic.Int32
}

// newStranger makes a repository with a run in its ledger, made before anything in it was hostile.
func newStranger(t *testing.T) *stranger {
	if _, err := exec.LookPath("git"); err != nil {
		citest.Skip(t, "git is missing")
	}
	w := &stranger{T: t, dir: t.TempDir()}
	w.repo, w.marks = filepath.Join(w.dir, "repo"), filepath.Join(w.dir, "marks")
	for name, value := range map[string]string{
		"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "CUE_CACHE_DIR": "cue", "TMPDIR": "tmp",
	} {
		dir := filepath.Join(w.dir, value)
		w.ok(os.MkdirAll(dir, 0o700))
		t.Setenv(name, dir)
	}
	w.ok(os.MkdirAll(w.marks, 0o700))
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("CUE_REGISTRY", "none")
	w.listen()

	w.write("exp/exp.cue", `package exp

experiments: before: {
	command: ["sh", "train.sh", "{x}"]
	objective: {metric: "loss", direction: "minimize"}
	sweep: grid: x: ["\u001b[31m", "a\nb", "\u009b31m", "$(touch x)", "\u202egnp"]
}
`)
	w.write("train.sh", `printf 'loss: 1\n\033[31m\302\23331m\033]0;title\007 %s\n' "$1" | tee "$XRUN_OUT/$(printf 'a\033[31m\nb')"; test "$1" = 'a
b' || exit 3`)
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-qm", "one")
	var out bytes.Buffer
	if code := run(t.Context(), []string{"-C", w.repo, "run", "./exp"}, nil, &out, &out); code != 3 {
		t.Fatalf("the run before: exit %d\n%s", code, &out)
	}
	if r, bad := unsafeRune(out.Bytes()); bad {
		t.Errorf("run prints %U: %q", r, &out)
	}
	return w
}

func (w *stranger) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// listen takes connections on loopback and counts them.
func (w *stranger) listen() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.ok(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.connected.Add(1)
			c.Close()
		}
	}()
	w.Cleanup(func() { l.Close(); <-done })
	w.port = l.Addr().(*net.TCPAddr).Port
	proxy := fmt.Sprintf("http://127.0.0.1:%d", w.port)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		w.Setenv(name, proxy)
	}
}

func (w *stranger) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.repo, name)
	w.ok(os.MkdirAll(filepath.Dir(file), 0o755))
	w.ok(os.WriteFile(file, []byte(text), 0o644))
}

func (w *stranger) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.repo, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// mark is a shell command that leaves a mark.
func (w *stranger) mark(name string) string { return "touch " + filepath.Join(w.marks, name) }

// world is every file but the marks: names, modes, times, bytes.
func (w *stranger) world() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == w.marks {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(fi.Mode(), " ", fi.ModTime().UnixNano())
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %q", b)
		}
		out[path] = text
		return nil
	})
	w.ok(err)
	return out
}

// unsafeRune reports what in an output could give a command to a terminal.
func unsafeRune(b []byte) (rune, bool) {
	for _, r := range string(b) {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			return r, true
		}
	}
	return 0, false
}

// Safety promise: vet, plan, report and show are safe on a stranger's pull request. Nothing of it runs, nothing is
// connected to, no file appears or changes, and nothing of it reaches the terminal as a command.
func TestAStrangersRepositoryIsOnlyRead(t *testing.T) {
	for name, change := range map[string]func(*stranger){
		"ours": func(*stranger) {},
		"with objects missing": func(w *stranger) {
			objects, err := filepath.Glob(filepath.Join(w.repo, ".git/objects/??/*"))
			w.ok(err)
			for _, o := range objects {
				w.ok(os.Remove(o))
			}
		},
		"with another working tree": func(w *stranger) {
			w.ok(os.Symlink("/etc/passwd", filepath.Join(w.repo, "exp", ".gitignore")))
			w.git("config", "--file", filepath.Join(w.repo, ".git", "config"), "core.worktree", "/")
			w.git("config", "--file", filepath.Join(w.repo, ".git", "config"), "core.excludesFile", "/etc/passwd")
		},
		"of another user": func(w *stranger) {
			if os.Getuid() != 0 {
				citest.Skip(w.T, "only root may give files away")
			}
			w.ok(filepath.WalkDir(w.repo, func(p string, d fs.DirEntry, err error) error {
				if err != nil || strings.Contains(p, "/.xrun") {
					return err
				}
				return os.Lchown(p, 12345, 12345)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStranger(t)
			out := &bytes.Buffer{}
			if code := run(t.Context(), []string{"-C", w.repo, "plan", "./exp", "-q", "--out", filepath.Join(w.dir, "old.json")}, nil, out, out); code != 0 {
				t.Fatal(code, out)
			}
			old, err := os.ReadFile(filepath.Join(w.dir, "old.json"))
			w.ok(err)
			evil := strings.NewReplacer(`"name": "before"`, `"name": "\u001b[31m\u009b"`, `"id": "`, `"id": "\u001b]0;x\u0007`, `"new"`, `"\u001b[31m"`).Replace(string(old))
			w.ok(os.WriteFile(filepath.Join(w.dir, "evil.json"), []byte(evil), 0o600))
			sub := filepath.Join(w.repo, "sub")
			w.git("clone", "-q", w.repo, sub)
			w.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
			w.plantFiles()
			w.plantSpecs()
			w.plantGit(w.repo)
			w.plantGit(sub)
			w.write("sub/.gitattributes", "* filter=evil\n")
			change(w)
			w.plantPrograms()
			w.checkAll()
		})
	}
}

// checkAll runs every command that promises only to look.
func (w *stranger) checkAll() {
	before := w.world()
	looked := map[string]int{}
	messages := map[string]string{}
	for _, line := range []string{
		"vet ./exp", "vet ./exp -o json", "vet ./...", "vet ./embed", "vet ./embedded", "vet ./names", "vet ./names -o json", "vet ./doubts", "plan ./doubts", "vet ./wide", "vet ./out",
		"plan ./exp", "plan ./exp -o json", "plan ./exp --against last", "plan ./exp --against ../old.json -o json", "plan ./exp --against ../evil.json", "plan ./exp --against ../evil.json -o json", "plan ./embed", "plan ./wide", "plan ./out",
		"report last -o md", "report last -o json", "report last -o csv", "report last -o junit", "status", "status -o json", "gc --keep 1 --dry-run", "show last", "show last/before", "show last -o json", "runs", "runs -o json",
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append([]string{"-C", w.repo}, strings.Fields(line)...), strings.NewReader("yes\n"), &stdout, &stderr)
		looked[line] = code
		for _, b := range [][]byte{stdout.Bytes(), stderr.Bytes()} {
			if r, bad := unsafeRune(b); bad {
				w.Errorf("xrun %s: prints %U:\n%q", line, r, b)
			}
			if bytes.Contains(b, []byte("root:x:")) {
				w.Errorf("xrun %s: prints a file from outside the repository:\n%s", line, b)
			}
		}
		messages[line] = stderr.String()
		if code != 0 && code != exitUsage {
			w.Errorf("xrun %s: exit %d\n%s", line, code, stderr.Bytes())
		}
		if marks, err := os.ReadDir(w.marks); err != nil || len(marks) > 0 {
			w.Fatalf("xrun %s: ran %v %v", line, marks, err)
		}
		if n := w.connected.Load(); n > 0 {
			w.Fatalf("xrun %s: %d connections", line, n)
		}
		if diff := cmp.Diff(before, w.world()); diff != "" {
			w.Fatalf("xrun %s: files changed:\n%s", line, diff)
		}
	}
	// What was refused was refused for the right reason, and the rest was looked at in whole.
	for _, line := range []string{"vet ./exp", "plan ./exp --against ../evil.json", "vet ./doubts", "plan ./doubts", "plan ./exp", "plan ./exp --against last", "report last -o md", "show last", "runs"} {
		if looked[line] != 0 {
			w.Errorf("xrun %s: exit %d\n%s", line, looked[line], messages[line])
		}
	}
	for _, line := range []string{"vet ./embed", "vet ./embedded", "vet ./names", "vet ./wide", "vet ./out"} {
		if looked[line] != exitUsage {
			w.Errorf("xrun %s: exit %d", line, looked[line])
		}
	}
	w.traps()
}

// traps makes sure that the marks work: a test that cannot fail shows nothing.
func (w *stranger) traps() {
	for _, argv := range [][]string{{"sh", "-c", "x"}, {"git", "-C", w.repo, "-c", "safe.directory=*", "status"}} {
		exec.Command(argv[0], argv[1:]...).Run()
		if marks, _ := os.ReadDir(w.marks); len(marks) == 0 {
			w.Errorf("%q leaves no mark", argv)
		}
		w.ok(os.RemoveAll(w.marks))
		w.ok(os.MkdirAll(w.marks, 0o700))
	}
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", w.port))
	w.ok(err)
	c.Read(make([]byte, 1)) // until it was taken and closed
	c.Close()
	if w.connected.Load() == 0 {
		w.Error("a connection is not counted")
	}
}
