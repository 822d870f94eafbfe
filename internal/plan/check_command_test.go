package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPipesAndBackgroundWorkOfAScriptAreSeen(t *testing.T) {
	for script, want := range map[string]string{
		"python train.py | tee log":                       "python tee",
		"python train.py |& tee log":                      "python tee",
		"python train.py 2>&1 | tee log; echo done":       "python tee",
		"a | b | c\nd | e":                                "a b c; d e",
		"LR=1 python t.py | tee log":                      "python tee",
		"if ! a | grep -q x; then b; fi":                  "a grep",
		"(cd x && python t.py) | tee log":                 "python tee",
		"python t.py --x='a|b'":                           "",
		`python t.py --x="a|b \" | c" '|'`:                "",
		`python t.py --x=a\|b`:                            "",
		"a || b":                                          "",
		"a && b":                                          "",
		"a >|out":                                         "",
		"a >&2 2>&1 &>log":                                "",
		"# a | b\na # c | d":                              "",
		"a#b | c":                                         "a#b c",
		"n=$(ls | wc -l); python t.py $n":                 "",
		`python t.py "$(cat x | head -1)" "$(a "b|c")"`:   "",
		"python t.py `cat x | head -1`":                   "",
		"echo $((1|2)) $(( (3|4) ))":                      "",
		"((x = 1|2)); a":                                  "",
		"if [[ $x =~ a|b ]]; then c; fi":                  "",
		"case $x in a|b) c;; esac | d":                    "case d",
		"echo case a | b; echo esac":                      "echo b",
		"while read x; do case $x in a|b) c;; esac; done": "",
		"case $x in a|b) c;; esac; d | e":                 "d e",
		"python t.py &":                                   "&",
		"python t.py & ":                                  "&",
		"nohup python t.py >log 2>&1 &\n":                 "&",
		"a & b":                                           "",
		"a & b & wait":                                    "",
		"a & wait $!":                                     "",
		"a '":                                             "",
		`a "`:                                             "",
		"a $(":                                            "",
		`a \`:                                             "",
		"a `":                                             "",
		"":                                                "",
		"|":                                               "",
		"&":                                               "",
	} {
		s := scanShell(script)
		var got []string
		for _, p := range s.pipes {
			got = append(got, strings.Join(p, " "))
		}
		if s.background {
			got = append(got, "&")
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("%q has %q, want %q", script, g, want)
		}
	}
}

// What is nested or left open a hundred thousand times takes neither the stack nor, as each byte is read once, the test's time.
func TestALongScriptIsScannedInOneGo(t *testing.T) {
	for _, part := range []string{"[[ ;", "case ;", "a ", "A=1 ", "if ", `"$(`, "((", "'", "`", "$(", "| ", "& ", "#", `\`} {
		for _, pipe := range scanShell(strings.Repeat(part, 100_000)).pipes {
			if len(pipe) < 2 {
				t.Errorf("%q again and again: a pipe of %q", part, pipe)
			}
		}
	}
}

func FuzzNoScriptIsTooOddToScan(f *testing.F) {
	for _, s := range []string{"a | b", `"$('`, "case x in", "[[ a", "$((1", "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range scanShell(s).pipes {
			if len(p) < 2 {
				t.Errorf("%q: a pipe of %q", s, p)
			}
		}
	})
}

func TestACommandThatHidesItsFailureIsNamed(t *testing.T) {
	run := func(command ...string) func(*Experiment) {
		return func(e *Experiment) { e.Sweep, e.Command = nil, command }
	}
	tee := func(path, hidden string) string {
		return "experiments.lr." + path + ": a pipe has the exit code of its last command: if " + hidden + ` fails, tee hides it (leave out tee, as xrun keeps the log of every trial, or use ["bash", "-o", "pipefail", "-c", …])?`
	}
	findings{
		"tee":                  {run("sh", "-c", "python t.py | tee log"), []string{tee("command.2", "python")}},
		"tee at the end":       {run("bash", "-ec", "a | b | /usr/bin/tee log"), []string{strings.Replace(tee("command.2", "a or b"), "fails, tee", "fails, /usr/bin/tee", 1)}},
		"four of them":         {run("sh", "-c", "a | b | c | d | tee log"), []string{tee("command.2", "a or b or c")}},
		"behind another":       {run("uv", "run", "bash", "-lc", "python t.py | tee log"), []string{tee("command.4", "python")}},
		"pipefail in it":       {run("bash", "-c", "set -eo pipefail; python t.py | tee log"), nil},
		"pipefail before it":   {run("bash", "-o", "pipefail", "-c", "python t.py | tee log"), nil},
		"pipefail in one word": {run("/bin/bash", "-euo", "pipefail", "-c", "python t.py | tee log"), nil},
		"another option":       {run("bash", "-o", "errexit", "-c", "python t.py | tee log"), []string{tee("command.4", "python")}},
		"PIPESTATUS":           {run("bash", "-c", "python t.py | tee log; exit ${PIPESTATUS[0]}"), nil},
		"only talk in front":   {run("sh", "-c", "echo y | python t.py; cat cfg | python t.py -"), nil},
		"no -c":                {run("bash", "run.sh", "a | b"), nil},
		"no shell":             {run("python", "-c", "a | b"), nil},
		"no script":            {run("sh", "-c"), nil},
		"in the background": {
			run("sh", "-c", "nohup python t.py &"),
			[]string{"experiments.lr.command.2: the script ends with &: the trial would end before its work does (leave the & out: xrun itself keeps a trial running when you log out)?"},
		},
		"everywhere": {
			func(e *Experiment) {
				argv := []string{"sh", "-c", "python t.py | tee log"}
				run(argv...)(e)
				e.Evaluate, e.Setup = &Evaluate{Command: argv}, &Setup{Command: argv}
				e.Loop = &Loop{Candidates: []Candidate{{Ref: "x"}}, Tests: &Tests{Command: argv}}
			},
			[]string{tee("command.2", "python"), tee("evaluate.command.2", "python"), tee("loop.tests.command.2", "python"), tee("setup.command.2", "python")},
		},
	}.check(t)
}

func TestAContainerThatIsStartedByHandIsNamed(t *testing.T) {
	for argv, at := range map[string]int{
		"docker run --gpus all img python t.py": 0, "/usr/bin/podman run img": 0, "sudo docker run img": 1,
		"sudo -E -u me docker run img": 4, "env A=1 apptainer exec x.sif p": 2, "nice -n 5 singularity run x": 3,
		"python docker": -1, "sudo": -1, "env A=1": -1, "python t.py": -1,
	} {
		s := specOf(experiment(func(e *Experiment) { e.Sweep, e.Command = nil, strings.Fields(argv) }))
		var want []string
		if at >= 0 {
			name := strings.Fields(argv)[at]
			name = name[strings.LastIndex(name, "/")+1:]
			want = []string{"experiments.lr.command." + IntValue(int64(at)).Text() + ": a container that " + name + ` starts does not get the trial's variables, and may outlive it (say container: image: "…", and in command what runs in it)?`}
		}
		if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
			t.Errorf("%s:\n%s", argv, diff)
		}
	}
	evaluate := lines(Check(specOf(experiment(func(e *Experiment) { e.Evaluate = &Evaluate{Command: []string{"docker", "run", "x"}} }))))
	if len(evaluate) != 1 || !strings.HasPrefix(evaluate[0], "experiments.lr.evaluate.command.0: a container") {
		t.Errorf("%q", evaluate)
	}
}

func TestProgramsThatReturnAtOnceAreNamed(t *testing.T) {
	for argv, named := range map[string]bool{
		"tmux new -d p": true, "screen -dm p": true, "setsid p": true, "nohup setsid -f p": true,
		"setsid -w p": false, "setsid --wait p": false, "nohup p": false, "python tmux": false,
	} {
		found := lines(Check(specOf(experiment(func(e *Experiment) { e.Sweep, e.Command = nil, strings.Fields(argv) }))))
		got := slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, "returns at once") })
		if got != named || len(found) > 1 {
			t.Errorf("%s: %q", argv, found)
		}
	}
}

func TestCommandsWithoutAProgramAreNamed(t *testing.T) {
	const empty = "this names no program (the first element of a command is its program)"
	findings{
		"empty": {
			func(e *Experiment) {
				e.Sweep, e.Command, e.Setup, e.Evaluate = nil, []string{" ", "a"}, &Setup{Command: []string{""}}, &Evaluate{Command: []string{""}}
			},
			[]string{"experiments.lr.command.0: " + empty, "experiments.lr.setup.command.0: " + empty, "experiments.lr.evaluate.command.0: " + empty},
		},
		"arguments": {
			func(e *Experiment) { e.Command = []string{"{params:--}", "p"} },
			[]string{"experiments.lr.command.0: {params:--} stands for the arguments of a program, and none comes before it (name the program in front of it)"},
		},
		"a parameter": {func(e *Experiment) { e.Command = []string{"{lr}", "", "{params}"} }, nil},
	}.check(t)
}
