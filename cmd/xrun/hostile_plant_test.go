package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

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
hosts: here: {kind: "local", labels: "\u001b[31mkey": "\u001b[31m", prelude: ["MARK"], env: {PATH: "WORLD/bin", LD_PRELOAD: "evil.so"}, slots: 2, workdir: "WORLD/work"}
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
