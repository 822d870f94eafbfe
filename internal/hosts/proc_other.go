//go:build unix && !linux

package hosts

import (
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// becomeSubreaper: these systems have nothing like it. What leaves the process group of its job escapes.
func becomeSubreaper() bool { return false }

// awaitEnd is there to save work where that can be saved.
func awaitEnd(int, time.Duration) {}

// bootID changes with every start of the machine.
var bootID = sync.OnceValue(func() string {
	return sysctl("kern.bootsessionuuid", "noboot")
})

// machineID is the same on this machine for ever and on no other; "" if unknown.
func machineID() string { return sysctl("kern.uuid", "") }

// totalMemory of the machine in bytes; 0 if unknown.
func totalMemory() int64 {
	n, err := strconv.ParseInt(sysctl("hw.memsize", "0"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func sysctl(name, otherwise string) string {
	out, err := exec.Command("sysctl", "-n", name).Output()
	if err != nil || len(out) == 0 {
		return otherwise
	}
	return strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "_")
}

// startTime is when a process began, in the system's words. Zombies have none.
func startTime(pid int) (string, bool) {
	out, err := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	f := strings.Fields(string(out))
	if err != nil || len(f) < 2 || strings.HasPrefix(f[0], "Z") {
		return "", false
	}
	return strings.Join(f[1:], "_"), true
}

// A crew is everything that belongs to a job. Here: its process group.
type crew struct {
	root   int // the supervisor's pid, 0 if it is gone
	main   int // the job's first process, leader of its group; 0 if unknown
	marker jobDir
	links  []string
	aside  func() int
}

// pids are not known here, and nobody needs them: these systems have no GPUs that nvidia-smi knows.
func (c crew) pids() map[int]bool { return nil }

// signal sends sig to the crew and says whether there is any. Signal 0 only asks.
func (c crew) signal(sig unix.Signal) int {
	if c.main <= 1 || unix.Kill(-c.main, sig) != nil {
		return 0
	}
	return 1
}
