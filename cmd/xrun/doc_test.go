package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/citest"
)

// TestDocumentedSessions runs the `$ xrun …` examples of README.md, in their order, in one empty directory, and compares
// what they print. An … stands for anything.
func TestDocumentedSessions(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		citest.Skip(t, "sh is missing")
	}
	for _, doc := range []string{"README.md"} {
		t.Run(doc, func(t *testing.T) {
			steps := sessions(t, filepath.Join("..", "..", doc))
			if len(steps) == 0 {
				t.Fatalf("%s has no console example", doc)
			}
			dir, env := t.TempDir(), home(t)
			for _, s := range steps {
				cmd := exec.Command("sh", "-c", s.command)
				cmd.Dir, cmd.Env = dir, env
				var stdout, stderr strings.Builder
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil && s.output == "" {
					t.Fatalf("%s:%d: $ %s: %v\n%s", doc, s.line, s.command, err, stderr.String())
				}
				if got := strings.TrimRight(stdout.String(), "\n"); !s.matches(got) {
					t.Fatalf("%s:%d: $ %s prints\n%s\nand not\n%s\n%s", doc, s.line, s.command, got, s.output, stderr.String())
				}
			}
		})
	}
}

// home is an environment with a home of its own and xrun on its path.
func home(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is xrun when it is called so.
	if err := os.Symlink(self, filepath.Join(bin, "xrun")); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir+"/cache", "XDG_CONFIG_HOME="+dir+"/config", "XRUN_STATE=",
		"NO_COLOR=1", "CUE_REGISTRY=none", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A step is one command of a document with what it prints.
type step struct {
	line            int
	command, output string
}

func (s step) matches(got string) bool {
	re := strings.ReplaceAll(regexp.QuoteMeta(s.output), "…", `(?s:.*?)`)
	return regexp.MustCompile("^" + re + "$").MatchString(got)
}

// sessions are the commands in the console blocks of a Markdown file.
func sessions(t *testing.T, file string) []step {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []step
	inside, n := false, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		n++
		line := lines.Text()
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case isCommand:
			out = append(out, step{line: n, command: command})
		case len(out) > 0:
			s := &out[len(out)-1]
			s.output = strings.TrimPrefix(s.output+"\n"+line, "\n")
		}
	}
	return out
}

// TestRoadmapNamesWhatIsNotBuilt keeps the page that every refusal points to complete.
func TestRoadmapNamesWhatIsNotBuilt(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "roadmap.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range unbuiltNames {
		if !strings.Contains(string(b), "`xrun "+name) {
			t.Errorf("docs/roadmap.md does not say that xrun %s is not there yet", name)
		}
	}
}
