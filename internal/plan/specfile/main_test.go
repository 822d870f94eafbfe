package specfile_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"cuelang.org/go/cmd/cue/cmd"
)

// asCue makes this binary behave as the cue command.
const asCue = "XRUN_TEST_AS_CUE"

func TestMain(m *testing.M) {
	if os.Getenv(asCue) != "" {
		os.Exit(cmd.Main())
	}
	os.Exit(m.Run())
}

// cue runs the cue command in dir, where no registry answers, and returns what it prints.
func cue(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), asCue+"=1", "CUE_REGISTRY=none", "CUE_CACHE_DIR="+t.TempDir())
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
