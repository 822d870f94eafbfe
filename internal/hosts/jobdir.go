package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The files of a job directory. They are the truth about the job: whoever comes later, after any crash, judges by them.
const (
	fileJob        = "job"         // the script that is run
	fileEnv        = "env"         // its environment; gone as soon as it starts
	fileLog        = "log"         // stdout and stderr as they came
	filePID        = "pid"         // who runs it; there before its first process is
	fileLock       = "lock"        // held by flock as long as its supervisor owns it
	fileBeat       = "beat"        // touched now and then while it runs
	fileExit       = "exit"        // how it ended; without " end" it does not exist
	fileExitTmp    = "exit.tmp"    // becomes exit; made at the start, so that a disk that filled up has room for it
	fileStop       = "stop"        // why it was ended; counts with exit only
	fileAsk        = "stop.ask"    // what Stop wants; the supervisor tells it in fileStop
	fileParams     = "params.json" // the parameters
	fileStep       = "step"        // which step failed or was ended, setup or evaluate; none: the command
	filePath       = "path"        // the PATH of a command that failed, or of a script that does not find its program
	fileFull       = "full"        // there if its disk had no room when it ended
	dirOut         = "out"         // artifacts
	dirTree        = "tree"        // the working directory
	dirEval        = "eval"        // that of the evaluation
	stopTimeout    = "timeout"
	stopSilence    = "silence"
	stopNever      = "never_started"
	stopGPULost    = "gpu_lost"
	exitTmpPadding = 64
)

// A jobDir is the path of a job directory. It is also the job's marker: unique on the machine.
type jobDir string

func (d jobDir) file(name string) string { return string(d) + "/" + name }

// validID says whether id can be a directory name that no command takes for an option.
func validID(id string) error {
	if id == "" || len(id) > 200 || id[0] == '-' || id[0] == '.' || strings.ContainsAny(id, "/\\\x00\n") {
		return fmt.Errorf("job id %q cannot be a file name", id)
	}
	return nil
}

// An owner is what fileExit and filePID say of the process that ran the job.
type owner struct {
	identity
	started time.Time
	main    int // pid of the job's first process; 0 if the supervisor did not come so far
}

// An identity names a process for ever: pids are used again.
type identity struct {
	pid   int
	start string // in the kernel's words
	boot  string
}

// line is the first line of filePID.
func (o owner) line() []byte {
	return fmt.Appendf(nil, "%d %s %s %d\n", o.pid, o.start, o.boot, o.started.UnixNano())
}

// readOwner reads filePID.
func (d jobDir) readOwner() (owner, bool) {
	b, err := readSmall(d.file(filePID))
	if err != nil || len(bytes.TrimSpace(b)) == 0 { // it is filled before anything is started; blank in a spare directory
		return owner{}, false
	}
	first, rest, _ := bytes.Cut(b, []byte{'\n'})
	f := strings.Fields(string(first))
	if len(f) != 4 {
		// The supervisor was killed in the middle of writing it: something may run, so the job counts as started.
		return owner{}, true
	}
	pid, _ := strconv.Atoi(f[0])
	nanos, _ := strconv.ParseInt(f[3], 10, 64)
	main := 0 // of the newest step
	if steps := bytes.Fields(rest); len(steps) > 0 {
		main, _ = strconv.Atoi(string(steps[len(steps)-1]))
	}
	return owner{identity{pid, f[1], f[2]}, time.Unix(0, nanos), main}, true
}

// exitLine is the content of fileExit.
func exitLine(code int, took time.Duration, logBytes int64) []byte {
	line := fmt.Appendf(nil, "%d %.6f %d end", code, took.Seconds(), logBytes)
	for len(line) < exitTmpPadding-1 {
		line = append(line, ' ')
	}
	return append(line, '\n')
}

// readExit reads how the job ended. What lies there while a supervisor owns the job is not by it: it lets go when it has
// written the file.
func (d jobDir) readExit() (Exit, bool) {
	e, ok := d.readRecord()
	return e, ok && !d.locked()
}

// readRecord is readExit for who owns the job, or knows that nobody does. A file without the final word does not exist.
func (d jobDir) readRecord() (Exit, bool) {
	b, err := readSmall(d.file(fileExit))
	if err != nil {
		return Exit{}, false
	}
	e, ok := parseExit(b)
	if !ok {
		return Exit{}, false
	}
	if o, ok := d.readOwner(); ok {
		e.Started = o.started
	}
	e.End = Exited
	if why, err := readSmall(d.file(fileStop)); err == nil && len(why) > 0 {
		e.End, e.Reason = endOf(string(why))
	}
	if step, err := readSmall(d.file(fileStep)); err == nil && (e.Code != 0 || e.End != Exited) {
		e.Step = string(step)
	}
	if path, err := readSmall(d.file(filePath)); err == nil && e.Code != 0 {
		e.Path = string(path)
	}
	e.DiskFull = d.isFull()
	d.addGPUs(&e)
	return e, true
}

func parseExit(b []byte) (Exit, bool) {
	f := strings.Fields(string(b))
	if len(f) != 4 || f[3] != "end" {
		return Exit{}, false
	}
	code, err1 := strconv.Atoi(f[0])
	secs, err2 := strconv.ParseFloat(f[1], 64)
	size, err3 := strconv.ParseInt(f[2], 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return Exit{}, false
	}
	return Exit{Code: code, Duration: time.Duration(secs * float64(time.Second)), LogBytes: size}, true
}

// endOf translates the content of fileStop.
func endOf(why string) (End, string) {
	switch why {
	case stopTimeout:
		return TimedOut, ""
	case stopSilence:
		return Silent, ""
	case stopNever:
		return NeverStarted, ""
	case stopGPULost:
		return GPULost, ""
	}
	return Stopped, why
}

// bury writes the end of a job that will never run. The caller holds the lock, so no supervisor can be starting it.
func (d jobDir) bury(why string) error {
	if err := writeSmall(d.file(fileStop), []byte(why)); err != nil {
		return err
	}
	if err := writeSmall(d.file(fileExitTmp), exitLine(-1, 0, 0)); err != nil {
		return err
	}
	for _, env := range []string{fileEnv, stepSetup + envSuffix, stepEvaluate + envSuffix} {
		_ = os.Remove(d.file(env)) // it may hold secrets
	}
	return os.Rename(d.file(fileExitTmp), d.file(fileExit))
}

// errHeld is the error of lock when somebody else has it.
var errHeld = errors.New("lock is held")

// lock takes the job's lock. With wait it waits for it: those who only look hold it for an instant.
func (d jobDir) lock(wait bool) (fd int, err error) {
	fd, err = open(d.file(fileLock), unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return -1, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	err = flock(fd, how)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		err = errHeld
	case !d.ownerLives():
		return fd, nil // no flock on this file system: identity is all there is
	default:
		err = errHeld
	}
	_ = unix.Close(fd)
	return -1, err
}

// held says whether a supervisor owns the job.
func (d jobDir) held() bool {
	err := d.tryLock()
	return errors.Is(err, unix.EWOULDBLOCK) || err != nil && !errors.Is(err, fs.ErrNotExist) && d.ownerLives()
}

// locked is held where there is flock, and false where there is none.
func (d jobDir) locked() bool { return errors.Is(d.tryLock(), unix.EWOULDBLOCK) }

// tryLock is the error of taking the job's lock for an instant: shared, so that two who look at once do not take each
// other for the owner.
func (d jobDir) tryLock() error {
	fd, err := open(d.file(fileLock), unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return fs.ErrNotExist // whatever it is, nobody holds it
	}
	defer unix.Close(fd)
	return flock(fd, unix.LOCK_SH|unix.LOCK_NB)
}

// ownerLives judges by pid, start time and boot: only where flock cannot tell.
func (d jobDir) ownerLives() bool {
	o, ok := d.readOwner()
	return ok && o.alive()
}

// alive says whether the process is still there. A zombie is not.
func (i identity) alive() bool {
	start, ok := startTime(i.pid)
	return ok && i.boot == bootID() && i.start == start
}

func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// open is os.OpenFile without what it costs to be ready for pipes: a job's way is counted in system calls. It follows no
// link: jobs can write where we do.
func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// readSmall and writeSmall do not wait for the other end of a pipe that a job put where a file was.
func readSmall(path string) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return buf[:n], nil
}

// writeSmall makes a file of a few bytes. One that they do not fit into is taken away: an empty one would say something,
// of a job that runs that it was stopped.
func writeSmall(path string, data []byte) error {
	return write(path, data, unix.O_TRUNC)
}

// writeOver is writeSmall for a file that is often there already, and blank: its block is used again. A file that is
// emptied first costs its block and another one, and ext4 writes it to disk as soon as it is closed.
func writeOver(path string, data []byte) error {
	return write(path, data, 0)
}

func write(path string, data []byte, flags int) error {
	fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK|flags)
	if err != nil {
		return err
	}
	err = writeAll(fd, data)
	var st unix.Stat_t
	if err == nil && flags&unix.O_TRUNC == 0 && unix.Fstat(fd, &st) == nil && st.Size > int64(len(data)) {
		err = unix.Ftruncate(fd, int64(len(data)))
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// noteFull leaves a sign that there is no room where the job lies.
func (d jobDir) noteFull() {
	if fd, err := open(d.file(fileFull), unix.O_WRONLY|unix.O_CREAT); err == nil { // a name alone mostly fits
		_ = unix.Close(fd)
	}
}

// isFull reports whether that sign is there.
func (d jobDir) isFull() bool {
	_, err := os.Lstat(d.file(fileFull))
	return err == nil
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// place says where the parts of a job lie.
func (d jobDir) place() Place {
	return Place{
		Dir: string(d), Tree: d.file(dirTree), Out: d.file(dirOut), Log: d.file(fileLog), Params: d.file(fileParams),
		Checkpoint: filepath.Join(filepath.Dir(filepath.Dir(string(d))), dirCheckpoints),
		Setup:      filepath.Join(filepath.Dir(filepath.Dir(string(d))), dirSetup),
	}
}
