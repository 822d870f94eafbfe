package hosts_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// evil are words that shells like to misread.
var evil = []string{
	"", " ", "'", `"`, `\`, "`touch pwn`", "$(touch pwn)", "; touch pwn #", "a\nb", "\n", "-rf", "--", "*", "~", "$HOME",
	"x; touch pwn", "\xff\xfe", "é", "e\u0301", "!!", "%s%n", "a'b'c", "\r", "\t", "&", "|", "${IFS}", "=", "A=b", everyByte(),
}

// everyByte is all bytes but NUL.
func everyByte() string {
	b := make([]byte, 255)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return string(b)
}

func TestQuote(t *testing.T) {
	for _, shell := range []string{"sh", "bash", "dash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		for _, word := range evil {
			out, err := exec.Command(path, "-c", "printf %s "+hosts.Quote(word)).Output()
			if err != nil || string(out) != word {
				t.Errorf("%s: %q became %q, %v", shell, word, out, err)
			}
		}
	}
}

// ways are how a job can be started: directly, and by a script in each shell.
var ways = map[string]func(*hosts.LocalConfig){
	"direct": nil,
	"sh":     func(c *hosts.LocalConfig) { c.Shell = "sh" },
	"bash":   func(c *hosts.LocalConfig) { c.Shell = "bash"; c.Prelude = []string{"shopt -s nullglob"} },
}

func TestWordsArriveUnchanged(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, way)
			exit, log := run(t, l, hosts.Job{ID: "argv", Argv: append([]string{"printf", `%s\0`}, evil...)})
			if want := strings.Join(evil, "\x00") + "\x00"; exit.Code != 0 || log != want {
				t.Errorf("argv: %+v\n%s", exit, cmp.Diff(want, log))
			}
			var env, script []string
			var want strings.Builder
			for i, v := range evil {
				env = append(env, fmt.Sprintf("V%d=%s", i, v))
				script = append(script, fmt.Sprintf(`printf '%%s\0' "$V%d"`, i))
				want.WriteString(v + "\x00")
			}
			job := sh("env", strings.Join(script, "\n"))
			job.Env = env
			exit, log = run(t, l, job)
			if exit.Code != 0 || log != want.String() {
				t.Errorf("env: %+v\n%s", exit, cmp.Diff(want.String(), log))
			}
			for _, id := range []string{"argv", "env"} {
				p, _ := l.Place(t.Context(), id)
				if _, err := os.Lstat(p.Tree + "/pwn"); err == nil {
					t.Errorf("%s: a value was run", id)
				}
				if _, err := os.Lstat(p.Dir + "/env"); err == nil {
					t.Errorf("%s: its environment is still on disk", id)
				}
			}
		})
	}
}

// Later wins: what we have, the prelude, the host's env, the job's.
func TestOrderOfEnvironment(t *testing.T) {
	for _, name := range []string{"A", "B", "C", "D"} {
		t.Setenv(name, "inherited")
	}
	l := newLocal(t, func(c *hosts.LocalConfig) {
		c.Prelude = []string{"export B=prelude C=prelude D=prelude", "F=unexported"}
		c.Env = []string{"C=host", "D=host"}
	})
	job := sh("job", `echo $A $B $C $D $F "$XRUN_MARKER"`)
	job.Env = []string{"D=job", "D=job2"}
	p, _ := l.Place(t.Context(), "job")
	if _, log := run(t, l, job); log != "inherited prelude host job2 "+p.Dir+"\n" {
		t.Errorf("got %q", log)
	}
	direct := newLocal(t, func(c *hosts.LocalConfig) { c.Env = []string{"C=host", "D=host"} })
	job.ID = "direct"
	p, _ = direct.Place(t.Context(), "direct")
	if _, log := run(t, direct, job); log != "inherited inherited host job2 "+p.Dir+"\n" {
		t.Errorf("direct: got %q", log)
	}
}

func TestPathOfJobCounts(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(bin+"/mine", []byte("#!/bin/sh\necho found\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, way := range ways {
		l := newLocal(t, way)
		job := hosts.Job{ID: "job", Argv: []string{"mine"}, Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}}
		if exit, log := run(t, l, job); exit.Code != 0 || log != "found\n" {
			t.Errorf("%s: %+v, %q", name, exit, log)
		}
	}
}

// tree makes a Tree of content by path; a path that ends in @ is a link, one that ends in * is executable.
func tree(t *testing.T, content map[string]string) hosts.Tree {
	t.Helper()
	tr := hosts.Tree{ID: "t", Blobs: t.TempDir()}
	for path, text := range content {
		sum := sha256.Sum256([]byte(text))
		f := hosts.TreeFile{Path: path, Mode: "100644", SHA256: hex.EncodeToString(sum[:])}
		if p, ok := strings.CutSuffix(path, "@"); ok {
			f.Path, f.Mode = p, "120000"
		} else if p, ok := strings.CutSuffix(path, "*"); ok {
			f.Path, f.Mode = p, "100755"
		}
		if err := os.WriteFile(filepath.Join(tr.Blobs, f.SHA256), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
		tr.Files = append(tr.Files, f)
	}
	return tr
}

func TestTreeArrivesByteForByte(t *testing.T) {
	l := newLocal(t, nil)
	content := map[string]string{
		"run.sh*": "#!/bin/sh\ncat deep/er/data; echo changed >deep/er/data\n", "deep/er/data": "data\n", "a b": "1", "c\nd": "2",
		"-rf": "3", "$(touch pwn)": "4", "\xff\xfe": "5", "é": "6", "e\u0301": "7", "loop@": ".", "dangling@": "/no/such/place",
		"out@": "../../../..", "empty": "", `back\slash`: "8", "'": "9", "*x": "a",
	}
	for i := range 50 { // enough for several workers
		content[fmt.Sprintf("many/%d/f", i)] = fmt.Sprint(i)
	}
	tr := tree(t, content)
	for _, id := range []string{"one", "two"} { // the second must not see what the first changed
		exit, log := run(t, l, hosts.Job{ID: id, Argv: []string{"./run.sh"}, Tree: tr, Params: []byte(`{"lr": 0.1}`)})
		if exit.Code != 0 || log != "data\n" {
			t.Fatalf("%+v, %q", exit, log)
		}
		p, _ := l.Place(t.Context(), id)
		for path, text := range content {
			file := p.Tree + "/" + strings.TrimRight(path, "@*")
			if path == "*x" {
				file = p.Tree + "/*x"
			}
			var got []byte
			var err error
			if strings.HasSuffix(path, "@") {
				var link string
				link, err = os.Readlink(file)
				got = []byte(link)
			} else {
				got, err = os.ReadFile(file)
			}
			if path == "deep/er/data" {
				text = "changed\n"
			}
			if err != nil || !bytes.Equal(got, []byte(text)) {
				t.Errorf("%q: %q, %v", path, got, err)
			}
		}
		if b, _ := os.ReadFile(p.Params); string(b) != `{"lr": 0.1}` {
			t.Errorf("params %q", b)
		}
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	l := newLocal(t, nil)
	ok := tree(t, map[string]string{"f": "x", "link@": "/tmp"})
	file := ok.Files[0]
	with := func(path, mode string) hosts.Tree {
		tr := ok
		tr.Files = append([]hosts.TreeFile{{Path: path, Mode: mode, SHA256: file.SHA256}}, ok.Files...)
		return tr
	}
	good := []string{"true"}
	for name, job := range map[string]hosts.Job{
		"no id":       {Argv: good},
		"id up":       {ID: "..", Argv: good},
		"id slash":    {ID: "a/b", Argv: good},
		"id dash":     {ID: "-rf", Argv: good},
		"id newline":  {ID: "a\nb", Argv: good},
		"no argv":     {ID: "a"},
		"argv nul":    {ID: "a", Argv: []string{"a\x00b"}},
		"env name":    {ID: "a", Argv: good, Env: []string{"A B=c"}},
		"env no =":    {ID: "a", Argv: good, Env: []string{"A"}},
		"env nul":     {ID: "a", Argv: good, Env: []string{"A=b\x00"}},
		"tree up":     {ID: "a", Argv: good, Tree: with("../x", "100644")},
		"tree abs":    {ID: "a", Argv: good, Tree: with("/x", "100644")},
		"tree dot":    {ID: "a", Argv: good, Tree: with(".", "100644")},
		"tree twice":  {ID: "a", Argv: good, Tree: with("f", "100644")},
		"tree mode":   {ID: "a", Argv: good, Tree: with("g", "160000")},
		"through":     {ID: "a", Argv: good, Tree: with("link/x", "100644")},
		"no blob":     {ID: "a", Argv: good, Tree: hosts.Tree{Blobs: t.TempDir(), Files: ok.Files}},
		"tree digest": {ID: "a", Argv: good, Tree: hosts.Tree{Files: []hosts.TreeFile{{Path: "f", Mode: "100644", SHA256: "../x"}}}},
	} {
		if err := l.Start(t.Context(), []hosts.Job{job})[0]; err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// None of them claimed its name.
	if exit, _ := run(t, l, hosts.Job{ID: "a", Argv: good, Tree: ok}); exit.End != hosts.Exited {
		t.Errorf("got %+v", exit)
	}
}
