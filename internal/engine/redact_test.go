package engine

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
