package hosts

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes every orphan among our descendants our child, so that nothing a job starts can get away by
// forking twice, and wait4 proves that nothing is left.
func becomeSubreaper() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// awaitEnd waits for the end of a child, which it does not collect, or for d at most. No thread sits in the kernel
// meanwhile: Go's scheduler would look every 20 µs whether that is over, which costs more than a short job itself does of
// us.
func awaitEnd(pid int, d time.Duration) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return // an old kernel
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Now().Add(d)) != nil {
		return
	}
	_ = conn.Read(func(uintptr) bool {
		var end unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &end, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err != nil || end.Signo != 0
	})
}

// bootID changes with every start of the machine.
var bootID = sync.OnceValue(func() string {
	b, err := readSmall("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "noboot"
	}
	return string(bytes.TrimSpace(b))
})

// machineID is the same on this machine for ever and on no other; "" if unknown.
func machineID() string {
	b, err := readSmall("/etc/machine-id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// startTime is when a process began, in the kernel's words. Zombies have none.
func startTime(pid int) (string, bool) {
	st, ok := readStat(pid)
	return st.start, ok && st.state != 'Z'
}

// A stat is what we need of /proc/PID/stat.
type stat struct {
	state                       byte
	pid, parent, group, session int
	start                       string
	whole                       bool // its session, and so its group, is the crew's alone, and not ours
}

func readStat(pid int) (stat, bool) {
	b, err := readSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The name may hold blanks and parentheses: count from the last one.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return stat{}, false
	}
	num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	return stat{state: f[0][0], pid: pid, parent: num(1), group: num(2), session: num(3), start: f[19]}, true
}

// A crew is everything that belongs to a job: the descendants of its supervisor, its session and group, and what carries
// its marker.
type crew struct {
	root   int // the supervisor's pid, 0 if it is gone
	main   int // the job's first process, leader of its session; 0 if unknown
	marker jobDir
	links  []string   // descriptors that only the job has; whoever else has one is of the job
	aside  func() int // the session of a child of the supervisor that is no part of the job; nil: there is none
}

// pids are those of the living processes of the crew.
func (c crew) pids() map[int]bool {
	pids := map[int]bool{}
	for _, m := range c.members() {
		pids[m.pid] = true
	}
	return pids
}

// signal sends sig to every living process of the crew and says how many there are. Signal 0 only counts. A group that is
// the crew's alone gets it in one call: what it forks meanwhile would be missed process by process, and the kernel lets no
// fork go by a signal to the group.
func (c crew) signal(sig unix.Signal) int {
	members := c.members()
	if sig == 0 {
		return len(members)
	}
	told := make(map[int]bool) // groups
	for _, m := range members {
		if m.whole && m.group > 1 && (told[m.group] || m.signalGroup(sig)) {
			told[m.group] = true
			continue
		}
		m.signal(sig)
	}
	return len(members)
}

// members reads /proc once. What only carries the marker must be ours: whoever likes can write it into an environment.
func (c crew) members() []stat {
	all := processes()
	in := make(map[int]bool)
	sessions := make(map[int]bool)
	if c.main != 0 && c.root != 0 {
		sessions[c.main] = true
	}
	want := []byte(markerName + "=" + string(c.marker))
	for _, p := range all {
		if ours(p.pid) && carries(p.pid, want) {
			in[p.pid] = true
			// A job begins in a session of its own, so all sessions its processes are in are its own.
			if p.session != 0 && p.session != unixSession(c.root) {
				sessions[p.session] = true
			}
		}
	}
	aside := 0
	if c.aside != nil {
		aside = c.aside()
	}
	for _, p := range all {
		if aside != 0 && p.session == aside {
			delete(in, p.pid)
			continue
		}
		if sessions[p.session] || sessions[p.group] || c.descends(p, all) {
			in[p.pid] = true
		}
		if len(c.links) > 0 && !in[p.pid] && ours(p.pid) && holds(p.pid, c.links) {
			in[p.pid] = true
		}
	}
	var members []stat
	mine := unixSession(os.Getpid()) // a program of the job may have called us: we are no part of what is signalled
	for _, p := range all {
		p.whole = sessions[p.session] && p.session != mine
		if in[p.pid] && p.pid != c.root && p.pid != os.Getpid() && p.state != 'Z' {
			members = append(members, p)
		}
	}
	return members
}

// descends says whether the supervisor is among p's ancestors.
func (c crew) descends(p stat, all map[int]stat) bool {
	for range 1000 { // a bound: the snapshot is not taken at one instant and might hold a circle
		if c.root == 0 || p.parent <= 1 {
			return false
		}
		if p.parent == c.root {
			return true
		}
		p = all[p.parent]
	}
	return false
}

// signal reaches the very process that was looked at, not one that got its pid since: with a pidfd that is certain, and
// without (old kernels, some containers) as good as.
func (p stat) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if start, ok := startTime(p.pid); !ok || start != p.start {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		_ = unix.Kill(p.pid, sig)
	}
}

// signalGroup sends to the group that the process is in. False: it is in that group no more.
func (p stat) signalGroup(sig unix.Signal) bool {
	if now, ok := readStat(p.pid); !ok || now.start != p.start || now.group != p.group || now.session != p.session {
		return false
	}
	return unix.Kill(-p.group, sig) == nil
}

func processes() map[int]stat {
	all := make(map[int]stat)
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, ok := readStat(pid); ok {
			all[pid] = st
		}
	}
	return all
}

// ours says whether a process runs as our user.
func ours(pid int) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && int(st.Uid) == os.Geteuid()
}

func carries(pid int, want []byte) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

func unixSession(pid int) int {
	if pid == 0 {
		return 0
	}
	sid, err := unix.Getsid(pid)
	if err != nil {
		return 0
	}
	return sid
}

// totalMemory of the machine in bytes; 0 if unknown.
func totalMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
