package hosts

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a process forks while its crew is being signalled gets the signal too: or else it would go on for the whole grace.
func TestASignalMissesNothingThatIsForkedMeanwhile(t *testing.T) {
	t.Parallel()
	marker := jobDir(t.TempDir())
	for range 20 {
		cmd := exec.Command("sh", "-c", "while :; do sleep 60 & done")
		cmd.Env = append(cmd.Environ(), markerName+"="+string(marker))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		c := crew{main: cmd.Process.Pid, marker: marker}
		if n := c.signal(unix.SIGTERM); n == 0 {
			t.Error("nobody was there")
		}
		_ = cmd.Wait() // ended by a signal, as it should
		for deadline := time.Now().Add(5 * time.Second); c.signal(0) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%d are still there", c.signal(unix.SIGKILL))
				break
			}
		}
	}
}
