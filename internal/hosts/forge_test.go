package hosts_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// What a job does to the files beside its own, by accident or not, changes nothing of what is believed of it.
func TestAJobDoesNotSayHowItEnded(t *testing.T) {
	for name, does := range map[string]string{
		"an exit file":             `echo "0 1.0 9 end" >../exit`,
		"a directory in its place": `mkdir -p ../exit/x`,
		"its room is gone":         `rm ../exit.tmp`,
		"its room is longer":       `echo "0 1.0 9 end" >>../exit.tmp; echo more >>../exit.tmp`,
		"its room is another's":    `rm ../exit.tmp; echo mine >mine; ln mine ../exit.tmp`,
		"its room is a directory":  `rm ../exit.tmp; mkdir -p ../exit.tmp/x`,
		"its room is a pipe":       `rm ../exit.tmp; mkfifo ../exit.tmp`,
		"a stop":                   `echo somebody asked for it >../stop`,
		"a timeout":                `printf timeout >../stop`,
		"a step":                   `printf setup >../step`,
		"a stop that is a link":    `echo mine >mine; ln -s "$PWD/mine" ../stop; ln mine ../step`,
		"directories":              `mkdir -p ../stop/x ../step/x ../gpu/x`,
		"GPUs":                     `echo '{"gpus":[{"uuid":"GPU-mine"}],"peak_mb":1}' >../gpu`,
		"no lock":                  `rm ../lock`,
		"no owner":                 `rm ../pid`,
		"an owner of its own":      `echo "1 1 x 1" >../pid`,
		"a word more of its owner": `echo 1 >>../pid`,
		"no log":                   `rm ../log`,
		"a log of its own":         `rm ../log; echo "loss: 0" >../log`,
		"a log that is a link":     `rm ../log; ln -s /etc/passwd ../log`,
		"nothing left":             `rm -rf ../* ../.[!.]*`,
		"not even the directory":   `d=${PWD%/tree}; cd /; rm -rf "$d"`,
		"another directory":        `d=${PWD%/tree}; cd /; mv "$d" "$d.moved"; mkdir "$d"`,
		"a file instead":           `d=${PWD%/tree}; cd /; rm -rf "$d"; echo x >"$d"`,
		"all shut":                 `chmod 0 ..`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			r, wait := begin(t, l, sh("a", "echo honest; "+does+"; exit 3"))
			exit := wait()
			if exit.End != hosts.Exited || exit.Code != 3 || exit.Step != "" || exit.Started.IsZero() || len(exit.GPUs) > 0 || exit.PeakGPUMB != nil {
				t.Errorf("%+v", exit)
			}
			if name != "a log of its own" && !strings.HasPrefix(r.text(), "honest\n") { // that one may be read while it is there
				t.Errorf("log %q", r.text())
			}
			dir := t.TempDir()
			if _, err := l.Fetch(t.Context(), "a", dir, hosts.Want{}); err != nil {
				t.Fatal(err)
			}
			if log := read(t, dir+"/log"); !strings.HasPrefix(log, "honest\n") {
				t.Errorf("its log came home as %q", log)
			}
			// Whoever comes later reads the same.
			if _, again := watch(t, l, "a"); again().Code != 3 {
				t.Error("a second look tells something else")
			}
		})
	}
}

func TestALimitIsToldWhateverTheJobDoes(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	j := sh("a", `mkdir -p ../stop/x; echo "0 1.0 9 end" >../exit; trap "" TERM; while :; do sleep 0.1; done`)
	j.Limits = hosts.Limits{Time: 300 * time.Millisecond, Grace: 100 * time.Millisecond}
	if exit, _ := run(t, l, j); exit.End != hosts.TimedOut {
		t.Errorf("%+v", exit)
	}
}

// As long as a supervisor owns the job it is not over, whoever wrote what.
func TestAnEndThatTheJobWroteIsNoneWhileItRuns(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	goOn := t.TempDir() + "/go"
	cmd := otherController(t, work, "a", `echo "0 1.0 9 end" >../exit; echo up; while ! [ -e `+goOn+` ]; do sleep 0.02; done; exit 5`)
	supervisorOf(t, place(t, l, "a"))
	until(t, "its own end", func() bool { _, err := os.Stat(place(t, l, "a").Dir + "/exit"); return err == nil })
	_ = cmd.Process.Kill()
	r, wait := watch(t, l, "a")
	r.waitFor(t, "up\n")
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.Code != 5 {
		t.Errorf("%+v", exit)
	}

	cmd = otherController(t, work, "b", `echo "0 1.0 9 end" >../exit; sleep 300`)
	until(t, "its own end", func() bool { _, err := os.Stat(place(t, l, "b").Dir + "/exit"); return err == nil })
	_ = cmd.Process.Kill()
	if err := l.Stop(t.Context(), "b", "enough"); err != nil {
		t.Fatal(err)
	}
	_, wait = watch(t, l, "b")
	if exit := wait(); exit.End != hosts.Stopped || exit.Reason != "enough" {
		t.Errorf("%+v", exit)
	}
}

// The parameters that an evaluation reads are those of the trial.
func TestAnEvaluationReadsTheParametersOfTheTrial(t *testing.T) {
	t.Parallel()
	for _, does := range []string{`echo '{"x": 2}' >../params.json`, `rm ../params.json`, `rm ../params.json; mkdir ../params.json`} {
		l := newLocal(t, nil)
		j := sh("a", does)
		j.Params = []byte(`{"x": 1}`)
		p := place(t, l, "a")
		j.Evaluate = &hosts.Evaluation{Step: step("cat "+p.Params, "P="+p.Params)}
		if exit, got := ended(t, l, j); exit.Code != 0 || read(t, got+"/evaluate.log") != `{"x": 1}` {
			t.Errorf("%s: %+v, %q", does, exit, read(t, got+"/evaluate.log"))
		}
	}
}
