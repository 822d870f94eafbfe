package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the other process that these tests need.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "helper" {
		if err := helper(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(do, dir string) error {
	ctx := context.Background()
	if do == "read" {
		l, err := OpenReader(ctx, dir)
		if err != nil {
			return err
		}
		n := 0
		for _, err := range l.Events(ctx, "r") {
			if err != nil {
				return err
			}
			n++
		}
		if n != 3 {
			return fmt.Errorf("%d events, want 3", n)
		}
		return l.Close()
	}
	l, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	if do == "hold" {
		err := l.Append(ctx, New("r", time.Now(), RunStarted{}), New("r", time.Now(), Warning{}), New("r", time.Now(), Warning{}))
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return err
	}
	// Several appenders, each of which says what is acknowledged.
	for a := range 4 {
		go func() {
			for i := 0; ; i++ {
				if err := l.Append(ctx, New(fmt.Sprint("r", a), time.Now(), Warning{fmt.Sprint(i)})); err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println(a, i)
			}
		}()
	}
	select {}
}

type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// start starts a helper and waits until it says something, or has ended. Where the tests are run by root it is somebody
// else, to whom permissions mean something.
func start(t *testing.T, do, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "helper", do, dir)
	if do == "read" && os.Getuid() == 0 {
		cmd.Path = sharedCopy(t, self)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Env = append(os.Environ(), "TMPDIR=/tmp")
	}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, bufio.NewReader(out)}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if do != "read" {
		if _, err := p.out.Peek(1); err != nil {
			t.Fatalf("helper %s: %v", do, err)
		}
	}
	return p
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // "signal: killed"
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("helper: %v", err)
	}
}

// sharedCopy is a copy of a program that everybody may run.
func sharedCopy(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "xrun-ledger-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "helper")
	if err := copyFile(path, program); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{dir, path} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// readOnly makes a directory and its files readable, and no more, for everybody.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	for name := range files(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for p := dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
}

func TestWhatWasAcknowledgedOutlivesAKill(t *testing.T) {
	rounds := 4
	if os.Getenv("XRUN_SOAK") != "" {
		rounds = 200
	}
	dir := t.TempDir()
	next := [4]int{} // what each appender of all rounds should have in the ledger, at least
	for round := range rounds {
		p := start(t, "append", dir)
		time.AfterFunc(time.Duration(20+37*round%150)*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
		acknowledged := [4]int{}
		for {
			var a, i int
			line, err := p.out.ReadString('\n')
			if err != nil {
				break // a line that was cut was not read by anybody
			}
			if _, err := fmt.Sscan(line, &a, &i); err != nil {
				t.Fatalf("helper: %s", line)
			}
			acknowledged[a] = i + 1
		}
		_ = p.cmd.Wait() // "signal: killed"
		l, err := OpenReader(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for a, n := range acknowledged {
			es := all(t, l, fmt.Sprint("r", a))
			if len(es) < next[a]+n {
				t.Fatalf("round %d: appender %d has %d events, %d were acknowledged", round, a, len(es), next[a]+n)
			}
			for i, e := range es[next[a]:] {
				if e.Body.(Warning).Message != strconv.Itoa(i) {
					t.Fatalf("round %d: event %d of appender %d is %v", round, i, a, e.Body)
				}
			}
			next[a] = len(es)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, dir)
	if err := l.Rebuild(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACreationThatWasKilledCanBeRepeated(t *testing.T) {
	rounds := 5
	if os.Getenv("XRUN_SOAK") != "" {
		rounds = 300
	}
	for round := range rounds {
		dir := t.TempDir()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "helper", "hold", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round%30) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		add(t, open(t, dir), "s", RunStarted{})
	}
}
