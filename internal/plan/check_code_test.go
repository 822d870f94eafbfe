package plan

import (
	"path"
	"strings"
	"testing"
)

// fakeLook is a repository: by path relative to the code, "x" if executable, "-" and why it is not shipped, "/" of a
// directory; then the text.
type fakeLook struct {
	files map[string]string
	text  map[string]string
	links []string
	left  []Left
}

func (l *fakeLook) At(name string) Seen {
	mark, ok := l.files[name]
	switch {
	case mark == "heavy":
		return Seen{Kind: RegularFile, Shipped: true, Bytes: 200 << 20}
	case mark == "special":
		return Seen{Kind: Special, Why: "it is no plain file"}
	case !ok:
		for f, mark := range l.files {
			if strings.HasPrefix(f, name+"/") && !strings.HasPrefix(f, "../") {
				return Seen{Kind: Directory, Shipped: !strings.HasPrefix(mark, "-"), Why: strings.TrimPrefix(mark, "-")}
			}
		}
		return Seen{}
	case strings.HasPrefix(mark, "-"):
		return Seen{Kind: RegularFile, Why: mark[1:]}
	}
	return Seen{Kind: RegularFile, Shipped: !strings.HasPrefix(name, "../"), Executable: mark == "x"}
}

func (l *fakeLook) Find(name string) []Elsewhere {
	var out []Elsewhere
	for _, f := range sortedKeys(l.files) {
		if !strings.EqualFold(path.Base(f), path.Base(name)) {
			continue
		}
		e := Elsewhere{Path: f, Name: strings.TrimPrefix(f, "../"), Shipped: l.At(f).Shipped}
		if base, ok := strings.CutSuffix("./"+f, "/"+name); ok {
			e.CodePath = path.Clean(base)
		}
		out = append(out, e)
	}
	return out
}

func (l *fakeLook) Beside(name string) []string {
	var out []string
	for _, f := range sortedKeys(l.files) {
		if path.Dir(f) == path.Dir(name) && l.At(f).Shipped {
			out = append(out, path.Base(f))
		}
	}
	return out
}

func (l *fakeLook) Text(name string) string { return l.text[name] }
func (l *fakeLook) Links() []string         { return l.links }
func (l *fakeLook) Left() []Left            { return l.left }

// told is a finding in a line; a warning ends in "?".
func told(fs []Finding) []string {
	var out []string
	for _, f := range fs {
		s := strings.Join(f.Path[2:], ".") + ": " + f.Message
		if f.Suggestion != "" {
			s += " (" + f.Suggestion + ")"
		}
		if f.Warning {
			s += "?"
		}
		out = append(out, s)
	}
	return out
}

func withCommand(command ...string) *Spec {
	return &Spec{
		Experiments: []Experiment{{Name: "e", Command: command, Set: map[string]bool{}}},
		Hosts:       []Host{{Name: "local", Kind: "local", Slots: 1}},
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestProgramsAreShipped(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		text  map[string]string
		argv  []string
		want  string
	}{
		"there":         {files: map[string]string{"train.py": ""}, argv: []string{"python", "train.py"}},
		"in a place":    {files: map[string]string{"a/train.py": ""}, argv: []string{"python", "./a/train.py"}},
		"a directory":   {files: map[string]string{"pkg/__main__.py": ""}, argv: []string{"python", "pkg"}},
		"a directory 2": {files: map[string]string{"pkg/x.sh": ""}, argv: []string{"bash", "pkg"}, want: "command.1: pkg is a directory"},
		"below": {
			files: map[string]string{"src/train.py": ""}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found in the directory of the code, but src/train.py is there (write "src/train.py", or code: path: "src")`,
		},
		"outside": {
			files: map[string]string{"../train.py": ""}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found in the directory of the code, but train.py is there (code: path: "..")`,
		},
		"several": {
			files: map[string]string{"a/train.py": "", "b/train.py": ""}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found in the directory of the code, but a/train.py is there (and 1 more of that name) (write "a/train.py", or code: path: "a")`,
		},
		"other case": {
			files: map[string]string{"Train.py": ""}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found: it is called Train.py, in other case (write "Train.py")`,
		},
		"a fifo": {
			files: map[string]string{"train.py": "special"}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is here, but is not shipped: it is no plain file`,
		},
		"without its end": {files: map[string]string{"src/index.js": ""}, argv: []string{"node", "src/index"}},
		"ignored": {
			files: map[string]string{"train.py": "-git ignores it (.gitignore:1: *.py)"}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is here, but is not shipped: git ignores it (.gitignore:1: *.py) (ship it: code: include: ["train.py"])`,
		},
		"excluded": {
			files: map[string]string{"train.py": `-code.exclude names it ("*.py")`}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is here, but is not shipped: code.exclude names it ("*.py") (take it out of code.exclude)`,
		},
		"an environment": {
			files: map[string]string{".venv/bin/python": "-git ignores it"}, argv: []string{".venv/bin/python", "train.py"},
			want: `command.0: .venv/bin/python is here, but is not shipped: git ignores it (environments are not shipped: name the program by its absolute path, or activate the environment in the prelude of a host)`,
		},
		"nowhere": {
			argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found: neither in the code nor elsewhere in the repository (it is looked for in the directory of the code (code.path, or else the repository))?`,
		},
		"a slip": {
			files: map[string]string{"train_v2.py": "", "notes.txt": ""}, argv: []string{"python", "train.py"},
			want: `command.1: train.py is not found: neither in the code nor elsewhere in the repository (did you mean "train_v2.py"?)?`,
		},
		"another": {
			files: map[string]string{"main.py": ""}, argv: []string{"python", "finetune.py"},
			want: `command.1: finetune.py is not found: neither in the code nor elsewhere in the repository (here is main.py)?`,
		},
		"a placeholder": {argv: []string{"python", "{script}.py"}},
		"one word": {
			argv: []string{"python train.py --lr={lr}"},
			want: `command.0: the program's name is the whole of "python train.py --lr={lr}": a command is a list, one word each (write ["python", "train.py", "--lr={lr}"])`,
		},
		"a shell's line": {
			argv: []string{"python train.py | tee log"},
			want: `command.0: the program's name is the whole of "python train.py | tee log": a command is a list, one word each (write ["sh", "-c", "python train.py | tee log"])`,
		},
		"a name with a space": {files: map[string]string{"my tool": "x"}, argv: []string{"./my tool"}},
		"a line of shell": {
			files: map[string]string{"src/train.py": ""}, argv: []string{"sh", "-c", "python train.py | tee log"},
			want: `command.2: train.py is not found in the directory of the code, but src/train.py is there (write "src/train.py", or code: path: "src")?`,
		},
		"executable": {files: map[string]string{"run": "x"}, text: map[string]string{"run": "#!/bin/sh\n"}, argv: []string{"./run"}},
		"not executable": {
			files: map[string]string{"run": ""}, argv: []string{"./run"},
			want: `command.0: run is not executable (chmod +x run, or name its interpreter first)`,
		},
		"no interpreter": {
			files: map[string]string{"run": "x"}, text: map[string]string{"run": "echo 1\n"}, argv: []string{"./run"},
			want: `command.0: run does not say which program reads it (let it begin with #!/bin/sh or the like, or name its interpreter first)?`,
		},
		"of Windows": {
			files: map[string]string{"run": "x"}, text: map[string]string{"run": "#!/bin/sh\r\necho\r\n"}, argv: []string{"./run"},
			want: `command.0: run begins with a line that ends in CR: no interpreter has that name (save it with the line ends of Unix)`,
		},
		"machine code": {files: map[string]string{"run": "x"}, text: map[string]string{"run": "\x7fELF\x00\x01"}, argv: []string{"./run"}},
		"a module":     {files: map[string]string{"pkg/train.py": ""}, argv: []string{"python", "-m", "pkg.train"}},
		"a package":    {files: map[string]string{"pkg/__main__.py": ""}, argv: []string{"python", "-m", "pkg"}},
		"installed":    {argv: []string{"python", "-m", "torch.utils.bottleneck"}},
		"a module's slip": {
			files: map[string]string{"pkg/__init__.py": "", "pkg/train.py": ""}, argv: []string{"python", "-m", "pkg.trian"},
			want: `command.2: there is no module pkg.trian: neither pkg/trian.py nor pkg/trian/__main__.py (did you mean "pkg.train"?)?`,
		},
		"a module below src": {
			files: map[string]string{"src/pkg/train.py": ""}, argv: []string{"python", "-m", "pkg.train"},
			want: `command.2: the module pkg.train is not in the directory of the code, but src/pkg/train.py is there (code: path: "src", or PYTHONPATH in env, unless it is installed)?`,
		},
	} {
		look := &fakeLook{files: c.files, text: c.text}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		same(t, name, told(CheckCode(withCommand(c.argv...), func(*Experiment) Look { return look })), want...)
	}
}

// What a setup, a container or a prelude may still mend is not refused.
func TestWhatMayBeMendedIsNoProblem(t *testing.T) {
	look := &fakeLook{files: map[string]string{"build/train": "-git ignores it"}}
	for name, c := range map[string]struct {
		change func(*Spec)
		warned bool
	}{
		"setup":        {func(s *Spec) { s.Experiments[0].Setup = &Setup{Command: []string{"make"}} }, true},
		"container":    {func(s *Spec) { s.Experiments[0].Container = &Container{Image: "x"} }, true},
		"prelude":      {func(s *Spec) { s.Hosts[0].Prelude = []string{"cd /work"} }, true},
		"another PATH": {func(s *Spec) { s.Hosts[0].Env = map[string]string{"PATH": "/x"} }, true},
		"activation":   {func(s *Spec) { s.Hosts[0].Prelude = []string{". /venv/bin/activate", "export A=1"} }, false},
		"nothing":      {func(*Spec) {}, false},
	} {
		s := withCommand("build/train")
		c.change(s)
		got := CheckCode(s, func(*Experiment) Look { return look })
		if len(got) != 1 || got[0].Warning != c.warned {
			t.Errorf("%s: %q", name, told(got))
		}
	}
}

func TestEveryCommandIsLookedAt(t *testing.T) {
	s := withCommand("true")
	e := &s.Experiments[0]
	e.Evaluate = &Evaluate{Command: []string{"python", "eval.py"}}
	e.Loop = &Loop{Tests: &Tests{Command: []string{"sh", "test.sh"}}, Bootstrap: &Bootstrap{Path: "bench.py"}}
	look := &fakeLook{files: map[string]string{"x/eval.py": "", "x/test.sh": ""}}
	got := CheckCode(s, func(*Experiment) Look { return look })
	if len(got) != 2 || strings.Join(got[0].Path, ".") != "experiments.e.evaluate.command.1" || strings.Join(got[1].Path, ".") != "experiments.e.loop.tests.command.1" {
		t.Errorf("%q", told(got))
	}
	e.Command, e.Evaluate, e.Loop.Tests = []string{"python", "bench.py"}, nil, nil
	same(t, "the agent writes it", told(CheckCode(s, func(*Experiment) Look { return look })))
	e.Loop, e.Code.Ref = nil, "v1"
	same(t, "another tree", told(CheckCode(s, func(*Experiment) Look { return look })))
}

// Links that lead outside are told once for all that ship them, and not where data is declared.
func TestLinksThatLeadOutside(t *testing.T) {
	look := &fakeLook{links: []string{"a to /a", "b to /b", "c to /c", "d to /d"}}
	s := withCommand("true")
	s.Experiments = append(s.Experiments, Experiment{Name: "f", Command: []string{"true"}})
	got := told(CheckCode(s, func(*Experiment) Look { return look }))
	if len(got) != 1 || !strings.Contains(got[0], "shipped as a link that leads outside the code: a to /a, b to /b, c to /c and 1 more") {
		t.Errorf("%q", got)
	}
	s.Experiments = s.Experiments[:1]
	s.Experiments[0].Data = map[string]string{"corpus": "v1"}
	same(t, "with data", told(CheckCode(s, func(*Experiment) Look { return look })))
}

func TestAProgramThatReadsItsParameters(t *testing.T) {
	look := &fakeLook{text: map[string]string{"a.py": "os.environ['XRUN_PARAM_LR']", "pkg/train.py": "XRUN_PARAMS_FILE", "b.py": ""}}
	for want, argvs := range map[bool][][]string{
		true:  {{"python", "a.py"}, {"sh", "-c", "x", "./a.py"}, {"python", "-m", "pkg.train"}},
		false: {{"python", "b.py"}, {"true"}, {"python", "{a}.py"}},
	} {
		for _, argv := range argvs {
			if got := Reads(&Experiment{Command: argv}, look, "XRUN_PARAM"); got != want {
				t.Errorf("%q: %v", argv, got)
			}
		}
	}
}

func TestFilesThatNoCommandStartsAreLookedFor(t *testing.T) {
	s := withCommand("python", "train.py")
	s.Experiments[0].Setup = &Setup{Command: []string{"pip"}, Key: []string{"requirement.txt", "./lock.txt", "reqs/*.txt", "big.txt", "env.yml"}}
	s.Experiments[0].Code.Include = []string{"build/fast.so", "build/*.so", "data/small.csv", "data"}
	look := &fakeLook{files: map[string]string{
		"train.py": "", "requirements.txt": "", "lock.txt": "", "big.txt": "-git ignores it", "conda/env.yml": "", "data/small.csv": "",
	}}
	same(t, "files", told(CheckCode(s, func(*Experiment) Look { return look })),
		`setup.key.0: requirement.txt is not found: the setup would not run again when it changes (did you mean "requirements.txt"?)?`,
		"setup.key.3: big.txt is here, but is not shipped: git ignores it?",
		`setup.key.4: env.yml is not found: the setup would not run again when it changes (did you mean "conda/env.yml"?)?`,
		"code.include.0: build/fast.so is not there: nothing is shipped for it?")
}
