package hosts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stepEnvs opens the environments of the steps before anything of the job runs: none of it finds them.
func (o order) stepEnvs() (map[string]int, error) {
	envs := map[string]int{}
	for step, asked := range map[string]bool{stepSetup: o.Setup != nil, stepEvaluate: o.Evaluate != nil} {
		if !asked {
			continue
		}
		name := o.dir.file(step + envSuffix)
		fd, err := open(name, unix.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			envs[step] = -1
			continue
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil {
			closeAll(envs)
			return nil, err
		}
		envs[step] = fd
	}
	return envs, nil
}

func closeAll(fds map[string]int) {
	for _, fd := range fds {
		_ = closeIf(fd)
	}
}

func closeIf(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// errUnending ends a job at a step: whoever waits for what was left would wait for the children of the next step too.
var errUnending = errors.New("something that was started does not end, not even when it is killed")

// evaluate measures what the command left, when all of it is gone: what it says is what counts.
func (r *run) evaluate(env int, mine map[string][]byte) {
	if r.s.spent {
		r.broken(stepEvaluate, errUnending)
		return
	}
	dir := r.dir.file(dirEval)
	err := r.restore(mine)
	var t Tree
	if err == nil {
		t, err = untouchedTree(string(r.Evaluate.Tree), r.Evaluate.SHA256)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = materialise(dir, t)
	}
	if err == nil {
		err = verify(dir, t)
	}
	var files []artifact
	if err == nil {
		files, err = r.dir.selected(r.Evaluate.Files)
	}
	for _, f := range files {
		if err == nil {
			err = f.into(dir)
		}
	}
	if err != nil {
		r.broken(stepEvaluate, err)
		return
	}
	r.step(stepEvaluate, env, r.Evaluate.Time)
}

// readings are the files of the job that its evaluation reads, before anything of the job can change them.
func (o order) readings() (map[string][]byte, error) {
	mine := map[string][]byte{}
	if o.Evaluate == nil {
		return mine, nil
	}
	for _, name := range []string{stepEvaluate, fileParams} {
		b, err := os.ReadFile(o.dir.file(name))
		if errors.Is(err, os.ErrNotExist) && name == fileParams {
			continue
		}
		if err != nil {
			return nil, err
		}
		mine[name] = b
	}
	return mine, nil
}

// restore makes the files of the evaluation what they were before the command ran, which lay beside them, and there is
// no log yet.
func (r *run) restore(mine map[string][]byte) error {
	if err := removeAll(r.dir.file(stepEvaluate + logSuffix)); err != nil {
		return err
	}
	for name, text := range mine {
		path := r.dir.file(name)
		if err := removeAll(path); err != nil {
			return err
		}
		fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
		if err != nil {
			return err
		}
		if err := errors.Join(writeAll(fd, text), unix.Close(fd)); err != nil {
			return err
		}
	}
	return nil
}

// into puts a file below dir, over one of the tree, never through a link.
func (a artifact) into(dir string) error {
	to := dir + "/" + a.name
	for i := len(dir) + 1; i < len(to); i++ { // a directory of the tree may be a link, which leads out
		if to[i] != '/' {
			continue
		}
		fi, err := os.Lstat(to[:i])
		if err == nil && fi.IsDir() {
			continue
		}
		if err == nil {
			err = os.Remove(to[:i])
		}
		if err == nil || errors.Is(err, os.ErrNotExist) {
			err = os.Mkdir(to[:i], 0o700)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return a.bring(dir, false)
}

// broken ends the job at a step that could not even be started. It returns false.
func (r *run) broken(step string, err error) bool {
	r.at = step
	if log, lerr := r.stepLog(step); lerr == nil {
		fmt.Fprintf(fdWriter(log), "xrun: %s: %v\n", step, err)
		_ = unix.Close(log)
	}
	r.code = 1
	return false
}

func (r *run) stepLog(step string) (int, error) {
	return open(r.dir.file(step+logSuffix), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_NONBLOCK) // never waits for a pipe
}

// step runs one step to its end, and reports whether it ended well. What the command took and printed stays what it was.
func (r *run) step(name string, env int, limit time.Duration) bool {
	log, err := r.stepLog(name)
	if err != nil {
		return r.broken(name, err)
	}
	defer unix.Close(log)
	r.at = name
	took, main := r.took, r.crew.main
	began := r.began
	r.begin(limit, 0)
	pid, err := r.spawnScript(r.dir.file(name), env, log)
	if err != nil {
		fmt.Fprintf(fdWriter(log), "xrun: %s: %v\n", r.Shell, err)
		r.code = 127
		return false
	}
	_ = r.owner(fmt.Appendf(nil, "%d\n", pid))
	r.crew.main = pid
	r.follow(pid)
	r.took, r.crew.main, r.began = took, main, began
	if r.s.spent && r.code == 0 {
		return r.broken(name, errUnending)
	}
	if r.code == 0 && !r.asked {
		r.at = ""
	}
	return r.code == 0 && !r.asked
}

// spawnScript starts a script of the job directory in a session of its own.
func (r *run) spawnScript(script string, env, log int) (pid int, err error) {
	null := uintptr(r.s.null)
	files := []uintptr{null, uintptr(log), uintptr(log)}
	if env >= 0 {
		none := ^uintptr(0)
		files = append(files, none, none, none, none, none, none, uintptr(env)) // envDescriptor
	}
	attr := &syscall.ProcAttr{
		Env:   r.s.env.with([]string{markerName + "=" + string(r.dir)}),
		Files: lend(r.grip.lend(files), r.kept), Sys: &syscall.SysProcAttr{Setsid: true},
	}
	return syscall.ForkExec(r.Shell, []string{r.Shell, script}, attr)
}
