package hosts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A supervisor takes orders ahead, runs them in order, and when nobody is there any more it finishes what runs and starts
// nothing that it was only told of.
func TestSupervisorFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "supervise")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write([]byte("this is no order\n"))
	for id, script := range []string{"exit 1", "echo up; while ! [ -e go ]; do sleep 0.02; done; exit 2", "exit 3"} {
		dir := fmt.Sprintf("%s/%d", home, id)
		if err := os.MkdirAll(dir+"/tree", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/job", []byte("cd "+dir+"/tree\n"+script+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		line, _ := json.Marshal(map[string]any{"Path": []byte(dir), "Shell": "/bin/sh"})
		_, _ = in.Write(append(line, '\n'))
	}
	read := func(name string) string {
		b, _ := os.ReadFile(home + "/" + name)
		return string(b)
	}
	until(t, "the second job", func() bool { return read("1/log") == "up\n" })
	_ = in.Close()
	if err := os.WriteFile(home+"/1/tree/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for id, want := range []string{"1 ", "2 ", ""} {
		exit := read(fmt.Sprint(id, "/exit"))
		if !strings.HasPrefix(exit, want) || (want == "") != (exit == "") {
			t.Errorf("job %d: exit file %q", id, exit)
		}
	}
	if pid := read("2/pid"); pid != "" {
		t.Errorf("the third was started: %q", pid)
	}
}
