package hosts

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// announced is the beginning of the names under which holders of leases are announced. They are abstract names of
// sockets: the kernel keeps them as long as anybody has the socket open, and shows them to all users.
const announced = "xrun-lease-v1/"

// looks is how often the names are read. The kernel lists them in pieces, and of a list from which something is taken
// between two pieces it may leave out what comes next.
const looks = 3

// announce makes the holder of a lease known to the kernel, and then looks whether it is the only one. Who is alone has
// a name that can be had once.
func announce(l *lease, h holder) error {
	prefix := announced + leaseName(l.uuid) + "/"
	mine, name := prefix+"alone", prefix+"alone"
	if h.Group != "" {
		mine = prefix + h.token() + "/"
		name = mine + strconv.FormatInt(time.Now().UnixNano(), 36) + "." + strconv.Itoa(os.Getpid())
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // the lock has to do
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		_ = unix.Close(fd)
		if errors.Is(err, unix.EADDRINUSE) && h.Group == "" {
			return &busyError{l.uuid, leaseDeleted}
		}
		return nil
	}
	l.announce = fd
	for range looks {
		if others, err := announcedBesides(prefix, mine); err == nil && others {
			return &busyError{l.uuid, leaseDeleted}
		}
	}
	return nil
}

const leaseDeleted = "leased by somebody whose lease file was deleted"

// announcedBesides reports whether a name that begins with prefix does not begin with mine.
func announcedBesides(prefix, mine string) (bool, error) {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		_, other, ok := strings.Cut(lines.Text(), "@"+prefix)
		if ok && !strings.HasPrefix(prefix+other, mine) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// link names the announcement of a lease as /proc/PID/fd shows it; only its job has it. "" if there is none.
func (l *lease) link() string {
	if l.announce < 0 {
		return ""
	}
	to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(l.announce))
	if err != nil {
		return ""
	}
	return to
}

// holds reports whether a process has one of the descriptors open that links name.
func holds(pid int, links []string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		to, err := os.Readlink(dir + "/" + fd.Name())
		if err != nil {
			continue
		}
		for _, link := range links {
			if to == link {
				return true
			}
		}
	}
	return false
}

// remains finds a process of the holder that still lives: one of our user's that carries its marker, or the supervisor;
// 0 if there is none.
func (h holder) remains(uuid string) int {
	if h.Boot != bootID() {
		return 0
	}
	if start, ok := startTime(h.PID); ok && start == h.Start && ours(h.PID) {
		// It may be at its next job by now; only its own knows. The lock is free, so it has let go.
		if jobDir(h.Marker).held() {
			return h.PID
		}
	}
	for pid := range processes() {
		if !ours(pid) {
			continue
		}
		marker, ok := markerOf(pid)
		if !ok {
			continue
		}
		if marker == h.Marker || h.Group != "" && filepath.Dir(marker) == filepath.Dir(h.Marker) && jobDir(marker).hasGPU(uuid) {
			return pid
		}
	}
	return 0
}

// markerOf reads the marker that a process carries.
func markerOf(pid int) (string, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range strings.SplitSeq(string(b), "\x00") {
		if m, ok := strings.CutPrefix(entry, markerName+"="); ok {
			return m, true
		}
	}
	return "", false
}

// scriptName is an argument that tells what an interpreter runs.
var scriptName = regexp.MustCompile(`^[^-=\s][^=\s]{0,200}\.(py|sh|jl|R|lua|pl|rb|js|m)$`)

// processName says what a process is, for a person: "pid 17 (bob: python train.py)". Of its arguments only the name
// of a script is told: others may hold what is not for a report.
func processName(pid int, otherwise string) string {
	proc := "/proc/" + strconv.Itoa(pid)
	name := filepath.Base(otherwise)
	if otherwise == "" || strings.HasPrefix(otherwise, "[") {
		name = "unknown program"
	}
	if b, err := os.ReadFile(proc + "/cmdline"); err == nil && len(b) > 0 {
		words := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		name = filepath.Base(words[0])
		if len(words) > 1 && scriptName.MatchString(words[1]) {
			name += " " + filepath.Base(words[1])
		}
	}
	var st unix.Stat_t
	if unix.Stat(proc, &st) != nil {
		return fmt.Sprintf("pid %d (%s)", pid, name)
	}
	return fmt.Sprintf("pid %d (%s: %s)", pid, userName(int(st.Uid)), name)
}
