package hosts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is how often a supervisor looks whether the setup of another one is over.
const lockPause = 50 * time.Millisecond

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

// setup runs the setup of the job, unless that was done before. False: the job ends here.
func (r *run) setup(env int) bool {
	dir := string(r.Setup.Dir)
	lock, err := open(dir+".lock", unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return r.broken(stepSetup, err)
	}
	defer unix.Close(lock)
	for errors.Is(flock(lock, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		if r.heed(); r.asked {
			r.code = 128 + int(unix.SIGTERM)
			return false
		}
		time.Sleep(lockPause)
	}
	if _, err := os.Stat(dir + doneSuffix); err == nil {
		return true
	}
	if err := errors.Join(removeAll(dir), os.MkdirAll(dir, 0o700)); err != nil { // half of one is none
		return r.broken(stepSetup, err)
	}
	r.kept = []int{lock}
	ok := r.step(stepSetup, env, r.Setup.Time)
	if r.kept = nil; !ok {
		return false
	}
	if err := writeSmall(dir+doneSuffix, nil); err != nil {
		return r.broken(stepSetup, err)
	}
	return true
}

// errUnending ends a job at a step: whoever waits for what was left would wait for the children of the next step too.
var errUnending = errors.New("something that was started does not end, not even when it is killed")

// evaluate measures what the command left, when all of it is gone: what it says is what counts.
func (r *run) evaluate(env int, script []byte) {
	if r.s.spent {
		r.broken(stepEvaluate, errUnending)
		return
	}
	dir := r.dir.file(dirEval)
	err := r.restore(script)
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

// restore makes the files of the evaluation what they were before the command ran, which lay beside them: its script, and
// no log yet.
func (r *run) restore(script []byte) error {
	name := r.dir.file(stepEvaluate)
	if err := errors.Join(removeAll(r.dir.file(stepEvaluate+logSuffix)), removeAll(name)); err != nil {
		return err
	}
	fd, err := open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	return errors.Join(writeAll(fd, script), unix.Close(fd))
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
	r.enter(step)
	if log, lerr := r.stepLog(step); lerr == nil {
		fmt.Fprintf(fdWriter(log), "xrun: %s: %v\n", step, err)
		_ = unix.Close(log)
	}
	r.code = 1
	return false
}

func (r *run) enter(step string) {
	if err := writeSmall(r.dir.file(fileStep), []byte(step)); err != nil {
		fmt.Fprintf(r.s.err, "%s: %v\n", r.dir, err)
	}
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
	r.enter(name)
	took, main := r.took, r.crew.main
	began := r.began
	r.begin(limit, 0)
	pid, err := r.spawnScript(r.dir.file(name), env, log)
	if err != nil {
		fmt.Fprintf(fdWriter(log), "xrun: %s: %v\n", r.Shell, err)
		r.code = 127
		return false
	}
	_ = writeAll(r.pidFile, fmt.Appendf(nil, "%d\n", pid))
	r.crew.main = pid
	r.follow(pid)
	r.took, r.crew.main, r.began = took, main, began
	if r.s.spent && r.code == 0 {
		return r.broken(name, errUnending)
	}
	if r.code == 0 && !r.asked {
		_ = os.Remove(r.dir.file(fileStep))
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
