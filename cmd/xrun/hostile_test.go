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
	"syscall"
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

// plantPrograms makes PATH one on which everything but git leaves a mark.
func (w *stranger) plantPrograms() {
	git, err := exec.LookPath("git")
	w.ok(err)
	bin := filepath.Join(w.dir, "bin")
	w.ok(os.MkdirAll(bin, 0o755))
	w.ok(os.Symlink(git, filepath.Join(bin, "git")))
	for _, name := range []string{
		"sh", "bash", "env", "python", "python3", "node", "uv", "conda", "torchrun", "ssh", "ssh-add", "scp", "rsync", "sftp", "nvidia-smi", "rocm-smi",
		"git-lfs", "git-remote-ext", "git-remote-http", "git-credential-evil", "git-submodule", "gpg", "less", "more", "vi", "editor", "docker", "podman", "sbatch", "sinfo", "curl", "cat", "id", "uname", "train",
	} {
		w.ok(os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n/usr/bin/env -i /bin/touch "+filepath.Join(w.marks, name)+"\n"), 0o755))
	}
	w.Setenv("PATH", bin)
	w.Setenv("SSH_ASKPASS", filepath.Join(bin, "ssh"))
	w.Setenv("GIT_PAGER", filepath.Join(bin, "less"))
	w.Setenv("EDITOR", filepath.Join(bin, "vi"))
}

// plantGit configures everything by which git runs something or looks elsewhere.
func (w *stranger) plantGit(dir string) {
	evil := filepath.Join(w.dir, "evil.sh")
	w.ok(os.WriteFile(evil, []byte("#!/bin/sh\n/bin/touch "+filepath.Join(w.marks, "evil")+"\n/bin/cat\n"), 0o755))
	url := fmt.Sprintf("http://127.0.0.1:%d/", w.port)
	w.ok(os.WriteFile(filepath.Join(w.dir, "outside.config"), []byte("[core]\n\tfsmonitor = "+evil+"\n[alias]\n\tls-files = !"+evil+"\n"), 0o644))
	for _, kv := range [][2]string{
		{"core.fsmonitor", evil},
		{"core.hooksPath", filepath.Join(dir, ".git", "hooks")},
		{"core.sshCommand", evil},
		{"core.pager", evil},
		{"core.editor", evil},
		{"core.askPass", evil},
		{"core.gitProxy", evil},
		{"core.alternateRefsCommand", evil},
		{"core.attributesFile", filepath.Join(dir, ".gitattributes")},
		{"core.untrackedCache", "true"},
		{"filter.evil.clean", evil},
		{"filter.evil.smudge", evil},
		{"filter.evil.process", evil},
		{"filter.evil.required", "true"},
		{"diff.evil.textconv", evil},
		{"diff.evil.command", evil},
		{"merge.evil.driver", evil},
		{"diff.external", evil},
		{"gpg.program", evil},
		{"credential.helper", "!" + evil},
		{"alias.ls-files", "!" + evil},
		{"alias.check-ignore", "!" + evil},
		{"alias.evil", "!" + evil},
		{"include.path", filepath.Join(w.dir, "outside.config")},
		{"url." + url + ".insteadOf", "https://"},
		{"remote.origin.url", "ext::" + evil},
		{"remote.origin.promisor", "true"},
		{"remote.origin.partialclonefilter", "blob:none"},
		{"remote.origin.uploadpack", evil},
		{"remote.origin.vcs", "ext"},
		{"protocol.ext.allow", "always"},
		{"submodule.sub.update", "!" + evil},
		{"submodule.sub.url", "ext::" + evil},
		{"submodule.recurse", "true"},
		{"uploadpack.packObjectsHook", evil},
		{"trailer.x.command", evil},
		{"extensions.partialClone", "origin"},
	} {
		cmd := exec.Command("git", "config", "--file", filepath.Join(dir, ".git", "config"), kv[0], kv[1])
		if out, err := cmd.CombinedOutput(); err != nil {
			w.Fatalf("git config %s: %v\n%s", kv[0], err, out)
		}
	}
	for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "query-watchman", "pre-auto-gc", "post-merge"} {
		w.ok(os.WriteFile(filepath.Join(dir, ".git", "hooks", hook), []byte("#!/bin/sh\n/bin/touch "+filepath.Join(w.marks, "hook")+"\n"), 0o755))
	}
}

// names are file names that a terminal, a shell or an option parser takes for something else.
var names = []string{
	"new\nline", "esc\x1b[31mred\x1b]0;title\a", "-rf", "--help", "$(touch x)", "`touch x`", ";touch x", "con", "nul", "\xff\xfe", "a\u009b31mb", "..a", " ", "*", "\u202egnp.exe", "\r",
}

// plantFiles makes what is no plain file, or has such a name.
func (w *stranger) plantFiles() {
	for _, name := range names {
		w.write("odd/"+name, "x")
		w.write("odd/dir"+name+"/__init__.py", "x")
	}
	w.write(".gitattributes", "*.sh filter=evil diff=evil merge=evil\n*.md filter=evil\n*.py filter=evil\n")
	w.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::"+w.dir+"/evil.sh\n\tupdate = !"+w.dir+"/evil.sh\n")
	w.write(".gitignore", "hidden*\nignored/\n")
	w.write("ignored/__init__.py", "x")
	w.write("hidden\x1b[31m.py", "x")
	w.write("train.sh", "echo changed\n")
	w.write(".venv/pyvenv.cfg", "home = /\n")
	w.write("crlf.sh", "#!/bin/sh\r\n")
	for name, to := range map[string]string{
		"root": "/", "home": filepath.Join(w.dir, "home"), "etc": "/etc/passwd", "loop": "loop", "loop2": "loop3", "loop3": "loop2", "here": ".", "up": "..",
		"dangling": "nosuch\x1b[31m", "dev": "/dev/zero", "stdin": "/dev/stdin", "proc": "/proc/self/fd", "link.py": "/etc/passwd",
	} {
		w.ok(os.Symlink(to, filepath.Join(w.repo, name)))
	}
	w.ok(syscall.Mkfifo(filepath.Join(w.repo, "fifo.py"), 0o644))
	w.ok(syscall.Mkfifo(filepath.Join(w.repo, "ignored", "fifo.py"), 0o644))
	l, err := net.Listen("unix", filepath.Join(w.repo, "socket.py"))
	w.ok(err)
	w.Cleanup(func() { l.Close() })
}

// plantSpecs writes experiments in which everything that names a command leaves a mark, and some that are refused.
func (w *stranger) plantSpecs() {
	w.write("exp/exp.cue", strings.NewReplacer("MARK", w.mark("spec"), "PORT", fmt.Sprint(w.port), "WORLD", w.dir).Replace(`package exp

experiments: [string]: {
	description: "\u001b[2J\u009b31m"
	labels: "\u001b[31m": "\u001b[31m"
	objective: {metric: "loss\u001b[31m", direction: "minimize"}
	limits: trial: "1h"
}
experiments: before: command: ["sh", "train.sh"]
experiments: secrets: {
	command: ["sh", "-c", "MARK"]
	secrets: TOKEN: {from: "command", command: ["sh", "-c", "MARK"]}
	secrets: FILE: {from: "file", path: "/etc/passwd"}
	setup: {command: ["sh", "-c", "MARK"], key: ["train.sh", "root/etc/passwd", "fifo.py"]}
	evaluate: {command: ["sh", "-c", "MARK"], files: ["fifo.py"]}
	container: {image: "evil", runtime: "docker"}
}
experiments: odd: {
	command: ["python", "hid\u001b[31mden.py", "--data=root/etc", "--data=fifo.py", "--input=home\u009b31m/x", "../../../../etc/passwd", "{x}"]
	sweep: grid: x: ["\u001b[31m", "a\nb", "$(MARK)"]
	env: A: "\u001b]0;x\u0007"
	needs: labels: "\u001b[31mkey": "\u001b[31m"
}
experiments: fifo: command: ["sh", "fifo.py"]
experiments: linked: command: ["sh", "link.py"]
experiments: loops: command: ["sh", "loop/x.py"]
experiments: deep: command: ["sh", "here/here/here/up/train.sh"]
experiments: device: command: ["sh", "dev"]
experiments: gpus: {command: ["train"], needs: gpus: 1}
experiments: agent: {
	command: ["./crlf.sh"]
	setup: command: ["sh", "-c", "MARK"]
	loop: {
		agent: "evil"
		hypothesis: name: "\u001b[31m"
		tests: {command: ["sh", "-c", "MARK"], where: "controller"}
	}
}
agents: evil: {kind: "command", command: ["sh", "-c", "MARK"], secrets: T: {from: "command", command: ["sh", "-c", "MARK"]}}
hosts: here: {kind: "local", prelude: ["MARK"], env: {PATH: "WORLD/bin", LD_PRELOAD: "evil.so"}, slots: 2, workdir: "WORLD/work"}
hosts: far: {kind: "ssh", address: "127.0.0.1", port: PORT, user: "a", prelude: ["MARK"], workdir: "/tmp"}
hosts: cluster: {kind: "slurm", address: "127.0.0.1", port: PORT, partition: "x"}
settings: notify: [
	{on: ["finished", "failed"], kind: "command", command: ["sh", "-c", "MARK"]},
	{on: ["finished"], kind: "webhook", url: {from: "command", command: ["sh", "-c", "MARK"]}},
]
`))
	w.write("embed/\x1b[31m\u009b.cue", "package embed\n\nexperiments: f: \"\u009b\": 1\n")
	w.write("embed/embed.cue", "@extern(embed)\npackage embed\n\n_x: _ @embed(file=/etc/passwd,type=text)\nexperiments: e: {command: [_x], objective: {metric: \"loss\", direction: \"minimize\"}}\n")
	w.write("embedded/embedded.cue", "@extern(embed)\npackage embedded\n\n_x: _ @embed(file=passwd,type=text)\nexperiments: e: {command: [_x], objective: {metric: \"loss\", direction: \"minimize\"}}\n")
	w.ok(os.Symlink("/etc/passwd", filepath.Join(w.repo, "embedded/passwd")))
	w.write("names/\x1b[31m\u009b.cue", `package names

experiments: [string]: objective: {metric: "loss", direction: "minimize"}
experiments: hidden: command: ["python", "hidden\u001b[31m.py", "--data=odd/esc\u001b[31mred\u001b]0;title\u0007"]
experiments: elsewhere: command: ["python", "esc\u001b[31mred\u001b]0;title\u0007"]
experiments: word: command: ["python \u001b[31m x"]
experiments: fifo: command: ["sh", "fifo.py"]
experiments: direct: command: ["odd/a\u009b31mb"]
`)
	w.write("doubts/\x1b[31m\u009b.cue", `package doubts

experiments: [string]: objective: {metric: "loss", direction: "minimize"}
experiments: nowhere: command: ["python", "a\u009b.py", "--data=data/\u009b31m.csv", "--data=odd/esc\u001b[31mred\u001b]0;title\u0007"]
experiments: program: command: ["\u001b[31m"]
experiments: module: command: ["python", "-m", "ignored.\u001b"]
experiments: linked: command: ["sh", "link.py"]
experiments: device: command: ["sh", "dev"]
`)
	w.write("wide/wide.cue", "package wide\n\nimport \"list\"\n\nexperiments: e: {command: [\"sh\", \"train.sh\", \"{params}\"], objective: {metric: \"loss\", direction: \"minimize\"}\n\tsweep: grid: {for i in list.Range(0, 40, 1) {\"p\\(i)\": [1, 2, 3, 4]}}}\n")
	w.write("up/../out/out.cue", "package out\n\nexperiments: e: {code: path: \"../root/etc\", command: [\"true\"], objective: {metric: \"loss\", direction: \"minimize\"}}\n")
}

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
	for _, line := range []string{
		"vet ./exp", "vet ./exp -o json", "vet ./...", "vet ./embed", "vet ./embedded", "vet ./names", "vet ./names -o json", "vet ./doubts", "plan ./doubts", "vet ./wide", "vet ./out",
		"plan ./exp", "plan ./exp -o json", "plan ./exp --against last", "plan ./exp --against ../old.json -o json", "plan ./embed", "plan ./wide", "plan ./out",
		"report last -o md", "report last -o json", "show last", "show last/before", "show last -o json", "runs", "runs -o json",
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
	for _, line := range []string{"vet ./exp", "vet ./doubts", "plan ./doubts", "plan ./exp", "plan ./exp --against last", "report last -o md", "show last", "runs"} {
		if looked[line] != 0 {
			w.Errorf("xrun %s: exit %d", line, looked[line])
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
