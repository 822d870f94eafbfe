package hosts

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// pack puts words into one piece of bytes, a NUL after each.
func pack(lists ...[]string) []byte {
	var b []byte
	for _, list := range lists {
		for _, word := range list {
			b = append(append(b, word...), 0)
		}
	}
	return b
}

func unpack(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// direct says whether the job can be started without its script.
func (o order) direct() bool { return len(o.Argv) > 0 }

// openEnv opens the environment that the script reads, -1 if it reads none. The file has no name from here on: only the
// job has its secrets.
func (o order) openEnv() (int, error) {
	if o.direct() {
		return -1, nil
	}
	fd, err := open(o.dir.file(fileEnv), unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return fd, os.Remove(o.dir.file(fileEnv))
}

// spawn starts the job in a session of its own, with nothing of ours but the log. If its program cannot be started
// directly the script tries: what sh says and returns then is what everybody knows.
func (r *run) spawn(env int) (pid int, err error) {
	null, log := uintptr(r.s.null), uintptr(r.log)
	files := []uintptr{null, log, log}
	sys := &syscall.SysProcAttr{Setsid: true}
	marker := markerName + "=" + string(r.dir)
	tree := r.dir.file(dirTree)
	if r.direct() {
		last := []string{marker, "PWD=" + tree}
		if r.grip != nil {
			last = append(last, r.grip.env())
			files = r.grip.lend(files)
		}
		argv, all := unpack(r.Argv), r.s.env.with(append(unpack(r.Env), last...))
		if path := lookPath(argv[0], all); path != "" {
			pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: tree, Env: all, Files: files, Sys: sys})
			if err == nil {
				return pid, nil
			}
		}
		if env, err = r.writeEnv(); err == nil {
			env, err = r.withGPUs(env)
		}
		if err != nil {
			return 0, err
		}
		defer func() { _ = closeIf(env) }()
	}
	return r.spawnScript(r.dir.file(fileJob), env, r.log)
}

// writeEnv makes for the script what openEnv would have found.
func (o order) writeEnv() (int, error) {
	if len(o.Env) == 0 {
		return -1, nil
	}
	text, err := envScript(unpack(o.Env))
	if err != nil {
		return -1, err
	}
	return o.nameless(text)
}

// nameless makes an open file that is read from its beginning and has no name: only the job has its secrets.
func (o order) nameless(text []byte) (int, error) {
	fd, err := open(o.dir.file(fileEnv), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return -1, err
	}
	err = errors.Join(os.Remove(o.dir.file(fileEnv)), writeAll(fd, text))
	if _, serr := unix.Seek(fd, 0, 0); err == nil {
		err = serr
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// An environment is a list of NAME=value with each name once: of two, programs take either.
type environment struct {
	list []string
	at   map[string]int
}

// newEnvironment takes what we inherited, without the marker of a job that we may be part of.
func newEnvironment(list []string) environment {
	e := environment{at: make(map[string]int)}
	for _, nv := range list {
		name, _, ok := strings.Cut(nv, "=")
		if !ok || name == "" || name == markerName {
			continue
		}
		if i, ok := e.at[name]; ok {
			e.list[i] = nv
			continue
		}
		e.at[name] = len(e.list)
		e.list = append(e.list, nv)
	}
	return e
}

// with is the environment with more in it; later wins.
func (e environment) with(more []string) []string {
	list := append(make([]string, 0, len(e.list)+len(more)), e.list...)
	added := make(map[string]int, len(more))
	for _, nv := range more {
		name, _, _ := strings.Cut(nv, "=")
		i, ok := e.at[name]
		if !ok {
			i, ok = added[name]
		}
		if ok {
			list[i] = nv
			continue
		}
		added[name] = len(list)
		list = append(list, nv)
	}
	return list
}

// pathOf is the PATH of an environment.
func pathOf(env []string) string {
	path := ""
	for _, nv := range env {
		if v, ok := strings.CutPrefix(nv, "PATH="); ok {
			path = v
		}
	}
	return path
}

// lookPath finds a program as exec does; "" leaves it to the shell, which also has the words for what is wrong.
func lookPath(name string, env []string) string {
	if name == "" || strings.Contains(name, "/") {
		return name
	}
	for dir := range strings.SplitSeq(pathOf(env), ":") {
		if !strings.HasPrefix(dir, "/") {
			return "" // relative to the job's directory, not to ours
		}
		var st unix.Stat_t
		file := dir + "/" + name
		if unix.Stat(file, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && unix.Access(file, unix.X_OK) == nil {
			return file
		}
	}
	return ""
}
