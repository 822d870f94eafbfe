package hosts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// treeOf is a tree with these files, whose bytes lie in a directory of the test.
func treeOf(t *testing.T, files map[string]string) hosts.Tree {
	t.Helper()
	tree := hosts.Tree{ID: "tree", Blobs: t.TempDir()}
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		digest := hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(tree.Blobs, digest), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tree.Files = append(tree.Files, hosts.TreeFile{Path: name, Mode: "100644", SHA256: digest})
	}
	return tree
}

func step(script string, env ...string) hosts.Step {
	return hosts.Step{Argv: []string{"sh", "-c", script}, Env: env}
}

// ended starts a job, waits for its end and brings its files.
func ended(t *testing.T, l *hosts.Local, j hosts.Job) (hosts.Exit, string) {
	t.Helper()
	if err := l.Start(t.Context(), []hosts.Job{j})[0]; err != nil {
		t.Fatal(err)
	}
	exit, err := l.Watch(t.Context(), j.ID, &recorder{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := l.Fetch(t.Context(), j.ID, dir, hosts.Want{}); err != nil {
		t.Fatal(err)
	}
	return exit, dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestASetupRunsOncePerKey(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 4 })
	place, err := l.Place(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []hosts.Job
	for _, id := range []string{"a", "b", "c", "d"} {
		dir := place.Setup + "/key"
		j := sh(id, `cat "$DIR/made"`)
		j.Env = []string{"DIR=" + dir}
		j.Setup = &hosts.Setup{Key: "key", Step: step(`echo x >>`+count+`; sleep 0.1; echo made by setup >"$DIR/made"; echo noise`, "DIR="+dir)}
		jobs = append(jobs, j)
	}
	for _, err := range l.Start(t.Context(), jobs) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range jobs {
		r := &recorder{}
		exit, err := l.Watch(t.Context(), j.ID, r)
		if err != nil || exit.Code != 0 || exit.Step != "" || r.log.String() != "made by setup\n" {
			t.Errorf("%s: %+v, %v, %q", j.ID, exit, err, r.log.String())
		}
	}
	if got := read(t, count); got != "x\n" {
		t.Errorf("it ran %d times", strings.Count(got, "x"))
	}
	other := jobs[0]
	other.ID, other.Setup = "e", &hosts.Setup{Key: "other", Step: jobs[0].Setup.Step}
	ended(t, l, other)
	if got := read(t, count); got != "x\nx\n" {
		t.Errorf("another key: it ran %d times", strings.Count(got, "x"))
	}
}

func TestASetupThatFailedIsDoneAgainFromTheBeginning(t *testing.T) {
	l := newLocal(t, nil)
	place, err := l.Place(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	dir := place.Setup + "/key"
	ok := filepath.Join(t.TempDir(), "ok")
	setup := &hosts.Setup{Key: "key", Step: step(`ls "$DIR"; echo half >"$DIR/half"; test -e `+ok+` || { echo no network >&2; exit 7; }`, "DIR="+dir)}
	j := sh("a", "echo command")
	j.Setup = setup
	exit, got := ended(t, l, j)
	if exit.Step != "setup" || exit.Code != 7 || exit.End != hosts.Exited {
		t.Errorf("%+v", exit)
	}
	if log := read(t, got+"/setup.log"); log != "no network\n" {
		t.Errorf("%q", log)
	}
	if err := os.WriteFile(ok, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j.ID = "b"
	exit, got = ended(t, l, j)
	if exit.Step != "" || exit.Code != 0 || read(t, got+"/log") != "command\n" {
		t.Errorf("%+v", exit)
	}
	if log := read(t, got+"/setup.log"); log != "" { // it found nothing of the first
		t.Errorf("%q", log)
	}
}

// What a killed supervisor leaves of a setup goes on for a while: nobody may begin another in the same directory.
func TestASetupNeverRunsTwiceAtOnce(t *testing.T) {
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 2 })
	place, err := l.Place(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	busy := filepath.Join(t.TempDir(), "busy")
	setup := &hosts.Setup{Key: "key", Step: step(`trap "" TERM; mkdir ` + busy + ` || { echo two at once >&2; exit 7; }
		for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; rmdir ` + busy)}
	first, second := sh("a", "echo first"), sh("b", "echo second")
	first.Setup, second.Setup = setup, setup
	if err := l.Start(t.Context(), []hosts.Job{first})[0]; err != nil {
		t.Fatal(err)
	}
	until(t, "the setup runs", func() bool { _, err := os.Stat(busy); return err == nil })
	if err := l.Start(t.Context(), []hosts.Job{second})[0]; err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(supervisorOf(t, place), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit, err := l.Watch(t.Context(), "b", &recorder{})
	if err != nil || exit.Code != 0 || exit.Step != "" {
		t.Errorf("%+v, %v", exit, err)
	}
	if exit, err := l.Watch(t.Context(), "a", &recorder{}); err != nil || exit.End != hosts.Vanished {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestASetupHasALimitAndCanBeStopped(t *testing.T) {
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 3 })
	slow := sh("slow", "echo command")
	slow.Setup = &hosts.Setup{Key: "slow", Step: hosts.Step{Argv: []string{"sleep", "60"}, Time: 100 * time.Millisecond}}
	exit, _ := ended(t, l, slow)
	if exit.End != hosts.TimedOut || exit.Step != "setup" {
		t.Errorf("%+v", exit)
	}
	first, second := sh("first", "echo"), sh("second", "echo")
	first.Setup = &hosts.Setup{Key: "long", Step: hosts.Step{Argv: []string{"sleep", "60"}}}
	second.Setup = first.Setup
	for _, err := range l.Start(t.Context(), []hosts.Job{first, second}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	for _, id := range []string{"second", "first"} { // the second waits for the first
		if err := l.Stop(t.Context(), id, "enough"); err != nil {
			t.Fatal(err)
		}
		exit, err := l.Watch(t.Context(), id, &recorder{})
		if err != nil || exit.End != hosts.Stopped || exit.Reason != "enough" {
			t.Errorf("%s: %+v, %v", id, exit, err)
		}
	}
}

func TestAnEvaluationMeasuresInATreeThatNobodyTouched(t *testing.T) {
	l := newLocal(t, nil)
	tree := treeOf(t, map[string]string{"evaluate.sh": "echo honest; cat pred/*; env | grep SECRET", "train.sh": ""})
	j := sh("a", `mkdir -p "$OUT/pred"; echo 1 >"$OUT/pred/a"; echo 2 >pred.txt; echo cheat >evaluate.sh; mkdir -p ../eval; env | grep SECRET; echo done`)
	place, err := l.Place(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	j.Tree, j.Env = tree, []string{"OUT=" + place.Out}
	j.Evaluate = &hosts.Evaluation{Step: step(". ./evaluate.sh; ls", "SECRET=truth"), Tree: tree, Files: []string{"pred", "evaluate.sh.bak"}}
	exit, _ := ended(t, l, j)
	// The directory that the command made in the evaluation's place is in the way: that is a failure, not a result.
	if exit.Step != "evaluate" || exit.Code != 1 {
		t.Errorf("%+v", exit)
	}
	j.ID, j.Argv = "b", []string{"sh", "-c", strings.Replace(j.Argv[2], "mkdir -p ../eval;", "", 1)}
	place, err = l.Place(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	j.Env = []string{"OUT=" + place.Out}
	exit, got := ended(t, l, j)
	if exit.Step != "" || exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if log := read(t, got+"/log"); log != "done\n" {
		t.Errorf("the command saw %q", log)
	}
	if log := read(t, got+"/evaluate.log"); log != "honest\n1\nSECRET=truth\nevaluate.sh\npred\ntrain.sh\n" {
		t.Errorf("%q", log)
	}
}

func TestAnEvaluationIsWhatItWasBeforeTheCommand(t *testing.T) {
	for name, cheat := range map[string]string{
		"its script":              `echo 'echo cheat' >../evaluate`,
		"its script's name":       `rm ../evaluate; ln -s "$PWD/mine" ../evaluate; echo 'echo cheat' >mine`,
		"a script that is a pipe": `rm ../evaluate; mkfifo ../evaluate`,
		"its log":                 `echo cheat >../evaluate.log`,
		"a log elsewhere":         `ln -s "$PWD/mine" ../evaluate.log`,
		"a pipe":                  `mkfifo ../evaluate.log`,
		"a directory":             `mkdir ../evaluate.log; touch ../evaluate.log/x`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, nil)
			j := sh("a", cheat)
			j.Evaluate = &hosts.Evaluation{Step: step("echo honest")}
			exit, got := ended(t, l, j)
			if exit.Step != "" || exit.Code != 0 {
				t.Fatalf("%+v", exit)
			}
			if log := read(t, got+"/evaluate.log"); log != "honest\n" {
				t.Errorf("%q", log)
			}
		})
	}
}

func TestAnEvaluationOfChangedBytesIsNone(t *testing.T) {
	l := newLocal(t, nil)
	tree := treeOf(t, map[string]string{"evaluate.sh": "echo honest"})
	j := sh("a", `for f in "$BLOBS"/*; do echo 'echo cheat' >"$f"; done`)
	j.Env = []string{"BLOBS=" + tree.Blobs}
	j.Evaluate = &hosts.Evaluation{Step: step(". ./evaluate.sh"), Tree: tree}
	exit, got := ended(t, l, j)
	if log := read(t, got+"/evaluate.log"); exit.Step != "evaluate" || exit.Code != 1 || !strings.Contains(log, "is not what it was when the run began") {
		t.Errorf("%+v, %q", exit, log)
	}
}

func TestACommandThatFailedIsNotEvaluated(t *testing.T) {
	l := newLocal(t, nil)
	j := sh("a", "exit 3")
	j.Evaluate = &hosts.Evaluation{Step: step("echo evaluated")}
	exit, got := ended(t, l, j)
	if exit.Code != 3 || exit.Step != "" {
		t.Errorf("%+v", exit)
	}
	if _, err := os.Stat(got + "/evaluate.log"); err == nil {
		t.Error("it was evaluated")
	}
}

func TestAnEvaluationThatFailsOrHangsEndsTheJob(t *testing.T) {
	l := newLocal(t, nil)
	j := sh("a", "sleep 0.1; echo done")
	j.Evaluate = &hosts.Evaluation{Step: step("echo broken; exit 9")}
	exit, _ := ended(t, l, j)
	if exit.Code != 9 || exit.Step != "evaluate" || exit.Duration < 100*time.Millisecond {
		t.Errorf("%+v", exit)
	}
	j.ID = "b"
	j.Evaluate = &hosts.Evaluation{Step: hosts.Step{Argv: []string{"sh", "-c", "sleep 60 & sleep 60"}, Time: 100 * time.Millisecond}}
	exit, _ = ended(t, l, j)
	if exit.End != hosts.TimedOut || exit.Step != "evaluate" {
		t.Errorf("%+v", exit)
	}
}

func TestTheFilesOfAnEvaluationDoNotLeaveIt(t *testing.T) {
	l := newLocal(t, nil)
	outside := t.TempDir()
	tree := treeOf(t, map[string]string{"e.sh": "cat in/x"})
	tree.Files = append(tree.Files, hosts.TreeFile{Path: "in", Mode: "120000", SHA256: linkTo(t, tree.Blobs, outside)})
	place, err := l.Place(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	j := sh("a", `mkdir "$OUT/in"; echo mine >"$OUT/in/x"`)
	j.Env = []string{"OUT=" + place.Out}
	j.Evaluate = &hosts.Evaluation{Step: step(". ./e.sh"), Tree: tree, Files: []string{"in/**"}}
	exit, got := ended(t, l, j)
	if exit.Code != 0 || read(t, got+"/evaluate.log") != "mine\n" {
		t.Errorf("%+v", exit)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func linkTo(t *testing.T, blobs, target string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(target))
	digest := hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(blobs, digest), []byte(target), 0o600); err != nil {
		t.Fatal(err)
	}
	return digest
}
