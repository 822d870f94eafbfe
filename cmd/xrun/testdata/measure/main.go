// Command measure runs a command and prints, as JSON, what it took. It is a program of its own because Linux counts the
// memory of whoever starts a process into the peak of that process: this one is small.
package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func main() {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stderr = os.Stderr
	start := time.Now()
	err := c.Run()
	wall := time.Since(start)
	if c.ProcessState == nil {
		panic(err)
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	peak := usage.Maxrss * 1024
	if runtime.GOOS == "darwin" { // bytes there, KiB elsewhere
		peak = usage.Maxrss
	}
	json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"exit": int64(c.ProcessState.ExitCode()), "wall": int64(wall), "peak": peak,
		"cpu": int64(c.ProcessState.UserTime() + c.ProcessState.SystemTime()),
	})
}
