package hosts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts"
)

func TestGlobsListFilesOfThisMachine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, n := range []string{"step_1.pt", "step_2.pt", "other.txt"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("123"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{dir + "/step_*.pt", "~/step_*.pt"} {
		got, err := hosts.GlobHere(t.Context(), pattern)
		if err != nil || len(got) != 2 || got[0].Path != dir+"/step_1.pt" || got[0].Size != 3 || got[0].MTime == 0 {
			t.Errorf("%s: %+v, %v", pattern, got, err)
		}
	}
	if got, err := hosts.GlobHere(t.Context(), dir+"/none*"); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"step_*.pt", dir + "/[", ""} {
		if got, err := hosts.GlobHere(t.Context(), bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
