package hosts

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A descriptor that was closed is not closed again: by then its number is that of something else, a lease perhaps.
func TestAListOfVariablesThatCannotBeMadeIsClosedOnce(t *testing.T) {
	dir := t.TempDir()
	r := &run{order: order{dir: jobDir(dir)}, grip: &grip{}}
	if err := os.WriteFile(filepath.Join(dir, fileEnv), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	env, err := open(r.dir.file(fileEnv), unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	envs := map[string]int{stepSetup: env}
	if err := r.showGPUs(envs); err == nil || envs[stepSetup] != -1 {
		t.Errorf("%v, and the descriptor is %d", err, envs[stepSetup])
	}
	if _, err := unix.FcntlInt(uintptr(env), unix.F_GETFD, 0); err == nil {
		t.Error("it is still open")
	}
}
