package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func redactorOf(values ...string) *Redactor {
	s := Secrets{Command: map[string]string{}}
	for i, v := range values {
		s.Command["TOKEN"+strings.Repeat("X", i)] = v
	}
	return NewRedactor(map[string]Secrets{"e": s})
}

func TestSecretsAreReplacedInEveryForm(t *testing.T) {
	r := redactorOf("hf_s3cr&t/ÿ", "short", "hf_s3cr&t/ÿ-longer")
	for _, text := range []string{
		"token hf_s3cr&t/ÿ.", "hf_s3cr&t/ÿhf_s3cr&t/ÿ", "hf_s3cr%26t%2F%C3%BF", base64.StdEncoding.EncodeToString([]byte("hf_s3cr&t/ÿ")),
		`"hf_s3cr\u0026t/ÿ"`, "68665f733363722674" + "2fc3bf", "x hf_s3cr&t/ÿ-longer y",
	} {
		got := r.Text(text)
		if strings.Contains(got, "s3cr") || strings.Contains(got, "longer") || !strings.Contains(got, "[secret TOKEN") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := r.Text("a short word"); got != "a short word" {
		t.Errorf("%q", got)
	}
	if redactorOf("short") != nil || (*Redactor)(nil).Text("x") != "x" {
		t.Error("nothing is looked for")
	}
}

func TestSecretsAreReplacedWhereverTheyAreSplit(t *testing.T) {
	r := redactorOf("aabaabaab-1", "aabaab!", "line one\nline two")
	text := "loss: 1\naabaabaabaab-1 aabaab aabaab!aabaabaab-1\nline one\nline two\naabaabaab-"
	want := r.Text(text)
	if strings.Contains(want, "aabaabaab-1") || strings.Contains(want, "line one") {
		t.Fatal(want)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var b bytes.Buffer
		w := &redactingWriter{r: r, to: &b}
		for rest := []byte(text); len(rest) > 0; {
			n := 1 + rnd.IntN(min(len(rest), 20))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Contains(got, "aabaabaab-1") || strings.Contains(got, "line two") {
			t.Fatalf("%q", got)
		}
	}
}

func TestASecretReachesTheJobAndNothingElse(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) {
		e.Evaluate = &plan.Evaluate{Command: []string{"evaluate"}}
	}, func(l *lab) {
		h := l.host("a", 1, func(job) hosttest.Script {
			return hosttest.Script{
				Took: time.Minute, Code: 1, Log: "token=hunter2hunter2\nRuntimeError: bad token hunter2hunter2\n",
				StepLogs: map[string]string{"evaluate": "truth: 0123456789\n"},
			}
		})
		cfg := l.config("r1")
		cfg.Secrets = map[string]Secrets{"e": {Command: map[string]string{"TOKEN": "hunter2hunter2"}, Evaluate: map[string]string{"TRUTH": "0123456789"}}}
		l.start(l.t.Context(), cfg)
		j := h.Jobs()[0]
		if !contains(j.Env, "TOKEN=hunter2hunter2") || contains(j.Env, "TRUTH=0123456789") || !contains(j.Evaluate.Env, "TRUTH=0123456789") || contains(j.Evaluate.Env, "TOKEN=hunter2hunter2") {
			t.Errorf("%q, %q", j.Env, j.Evaluate.Env)
		}
		err := filepath.WalkDir(l.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte("hunter2hunter2")) || bytes.Contains(b, []byte("0123456789\n")) {
				t.Errorf("%s holds a secret", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if f := bodies[ledger.AttemptFinished](l, "r1")[0]; !strings.Contains(f.Message, "bad token [secret TOKEN]") {
			t.Errorf("%s", f.Message)
		}
	})
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// One secret may be how another begins. However the text is split, it comes out as it would in one piece.
func TestASecretThatAnotherOneBeginsWith(t *testing.T) {
	r := redactorOf("hunter", "hunter-of-the-long-one", "of-the-short")
	text := "a hunter-of-the-long-one, hunter-of-the-short, hunter, hunter-of-the-lon"
	want := r.Text(text)
	if want != "a [secret TOKENX], [secret TOKEN]-[secret TOKENXX], [secret TOKEN], [secret TOKEN]-of-the-lon" {
		t.Fatal(want)
	}
	for size := 1; size < len(text); size++ {
		var b bytes.Buffer
		w := &redactingWriter{r: r, to: &b}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || b.String() != want {
			t.Errorf("in pieces of %d: %q", size, b.String())
		}
		got, err := io.ReadAll(r.reader(iotest.OneByteReader(strings.NewReader(text[:size]))))
		if err != nil || string(got) != r.Text(text[:size]) {
			t.Errorf("%q is read as %q", text[:size], got)
		}
	}
}

func TestSecretsAsPythonWritesThem(t *testing.T) {
	r := redactorOf(`pa"ss<wörd>&𝄞`)
	if got := r.Text(`{"a": "pa\"ss<w\u00f6rd>&\ud834\udd1e", "b": "pa\"ss<wörd>&𝄞"}`); got != `{"a": "[secret TOKEN]", "b": "[secret TOKEN]"}` {
		t.Errorf("%q", got)
	}
}

// What an outcome says of files, and their names, is the program's too.
func TestAnOutcomeHoldsNoSecretOfAFile(t *testing.T) {
	long := strings.Repeat("hunter2", 20) // longer than what is quoted of a value
	inLab(t, 1, func(e *plan.Experiment) {
		e.Metrics = map[string]plan.Metric{
			"x": {Pick: "last", From: &plan.Source{Kind: "json", File: "m.json", Pointer: "/x"}},
			"y": {Pick: "last", From: &plan.Source{Kind: "csv", File: "m.csv", Column: "y"}},
		}
		e.Artifacts.Paths = []string{"*.txt"}
	}, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script {
			return hosttest.Script{Took: time.Minute, Log: "loss: 1\n", Artifacts: map[string]string{
				"m.json": `{"x": "` + long + `"}`, "m.csv": "y\n" + long + "\n", "model-" + long + ".txt": "",
			}}
		})
		cfg := l.config("r1")
		cfg.Secrets = map[string]Secrets{"e": {Command: map[string]string{"TOKEN": long}}}
		l.start(l.t.Context(), cfg)
		f := bodies[ledger.AttemptFinished](l, "r1")[0]
		b, err := json.Marshal(f)
		if err != nil || strings.Contains(string(b), "hunter2") || len(f.Notes) != 2 || !slices.Contains(f.Artifacts, "model-[secret TOKEN].txt") {
			t.Errorf("%s, %v", b, err)
		}
		result, err := os.ReadFile(filepath.Join(l.dir, filepath.Dir(f.Log), "result.json"))
		if err != nil || strings.Contains(string(result), "hunter2") {
			t.Errorf("%s, %v", result, err)
		}
	})
}
