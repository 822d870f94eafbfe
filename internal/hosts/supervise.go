package hosts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An order is one line to a supervisor: run this job. It is JSON; what can hold any byte is []byte, since JSON's strings
// cannot.
type order struct {
	Path                 []byte // the job directory
	Shell                string
	Time, Silence, Grace time.Duration
	// Argv and Env are given, each word with a NUL after it, where the script would do nothing but exec: then it is not
	// run and the job costs one exec instead of two.
	Argv, Env []byte `json:",omitempty"`
	// Signal is sent to what runs Ahead of Time; 0: none.
	Signal syscall.Signal `json:",omitempty"`
	Ahead  time.Duration  `json:",omitempty"`
	// Checkpoint is deleted when the job has ended well.
	Checkpoint []byte `json:",omitempty"`
	// The steps beside the command.
	Setup    *setupOrder    `json:",omitempty"`
	Evaluate *evaluateOrder `json:",omitempty"`
	GPU      *gpuOrder      `json:",omitempty"`

	dir jobDir
}

// A setupOrder is a setup whose directory is Dir.
type setupOrder struct {
	Dir  []byte
	Time time.Duration
}

// An evaluateOrder is an evaluation in the tree that is listed in the file Tree, whose digest is SHA256.
type evaluateOrder struct {
	Tree   []byte
	SHA256 string
	Files  []string
	Time   time.Duration
}

// A supervisor runs one job after the other. It outlives whoever started it.
type supervisor struct {
	self      identity
	subreaper bool
	env       environment
	null      int
	news, err io.Writer
	asked     chan os.Signal
	spent     bool // takes no more jobs
}

// Supervise is the whole life of a supervisor process: one slot of a host. It takes orders as lines on stdin and tells
// news on stdout. When stdin ends, its controller is gone: it finishes what runs, limits and all, starts nothing more
// and returns its exit status. What it leaves in the job directories is the truth; news only spare the controller to
// look all the time.
func Supervise(stdin io.Reader, stdout, stderr io.Writer) int {
	// Caught, not ignored: what is ignored would be ignored in the jobs too.
	shrug := make(chan os.Signal, 1)
	signal.Notify(shrug, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	dropInherited()
	runtime.GOMAXPROCS(1) // it mostly waits; a second thread would only look for work
	s := &supervisor{subreaper: becomeSubreaper(), news: stdout, err: stderr, asked: asked}
	s.self = identity{pid: os.Getpid(), boot: bootID()}
	s.self.start, _ = startTime(s.self.pid)
	s.env = newEnvironment(os.Environ())
	var err error
	if s.null, err = open(os.DevNull, syscall.O_RDWR); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	orders, end := make(chan order, 64), make(chan struct{})
	go func() { // ends with stdin, and at the latest with the process
		defer close(end)
		lines := bufio.NewScanner(stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var o order
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				fmt.Fprintf(stderr, "order %q: %v\n", lines.Text(), err)
				continue
			}
			o.dir = jobDir(o.Path)
			orders <- o
		}
	}()
	for !s.spent {
		select {
		case <-end: // first, so that nothing that was queued starts
			return 0
		default:
		}
		select {
		case <-end:
			return 0
		case o := <-orders:
			s.take(o)
		}
	}
	return 1
}

// dropInherited closes what came with us beside the three: a pipe of whoever called our controller, say, whose other end
// waits for its end for as long as we or a job keep it. Everything that a Go program opens itself is closed on exec.
func dropInherited() {
	fds, _ := os.ReadDir("/dev/fd")
	for _, e := range fds {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// take runs the job of an order, unless that was settled before, and tells when it is over.
func (s *supervisor) take(o order) {
	lock, err := o.dir.lock(true)
	if err != nil {
		s.tell("fail %v", err)
		return
	}
	_, started := o.dir.readOwner()
	_, ended := o.dir.readRecord()
	var g *grip
	if !started && !ended {
		if o.GPU != nil {
			g, err = s.grip(o)
		}
		if err == nil {
			err = s.run(o, g)
		}
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			o.dir.noteFull()
		}
		if err != nil && !softly(err) {
			fmt.Fprintf(s.err, "%s %s: %v\n", time.Now().Format(time.RFC3339), o.dir, err)
		}
	}
	_ = syscall.Close(lock)
	if g != nil {
		s.giveBack(g)
	}
	s.conclude(err)
}

// softly: a GPU cannot be had, and the job may have to wait.
func softly(err error) bool {
	var busy *busyError
	var broken *brokenError
	return errors.As(err, &busy) || errors.As(err, &broken)
}

// conclude tells how an order came out.
func (s *supervisor) conclude(err error) {
	var busy *busyError
	var broken *brokenError
	switch {
	case errors.As(err, &busy):
		s.tell("busy %s %s", busy.uuid, busy.why)
	case errors.As(err, &broken):
		s.tell("broken %s %s", broken.uuid, broken.why)
	case err != nil:
		s.tell("fail %v", err)
	default:
		s.tell("end")
	}
}

// tell writes one line of news. Nobody may be there to read it.
func (s *supervisor) tell(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	_, _ = io.WriteString(s.news, line+"\n")
}
