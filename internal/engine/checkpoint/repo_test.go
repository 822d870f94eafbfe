package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/citest"
)

// A repo is a real repository in a temporary directory.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		citest.Skip(t, err.Error())
	}
	isolate(t)
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

// isolate keeps the user's own configuration out of a test.
func isolate(t testing.TB) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	all := append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"}, args...)
	cmd := exec.CommandContext(r.t.Context(), "git", all...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(name, text string) {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) link(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit() string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "c", "--allow-empty")
	return r.git("rev-parse", "HEAD")
}

func (r repo) scan(change func(*Selection)) (*Manifest, error) {
	r.t.Helper()
	s := Selection{Dir: r.dir, MaxSize: 1 << 30}
	if change != nil {
		change(&s)
	}
	return Scan(r.t.Context(), s)
}

func (r repo) mustScan(change func(*Selection)) *Manifest {
	r.t.Helper()
	m, err := r.scan(change)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func paths(m *Manifest) []string {
	out := []string{}
	for _, f := range m.Files {
		out = append(out, f.Path)
	}
	return out
}

// snapshot describes every file below dir with its bytes, mode and time of change.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if fi.Mode().IsRegular() {
			bytes, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			h := sha256.Sum256(bytes)
			sum = hex.EncodeToString(h[:8])
		}
		fmt.Fprintln(&b, p, fi.Mode(), fi.ModTime().UnixNano(), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
