package plan

import (
	"strings"
	"testing"
)

type fakeMachine struct {
	which map[string]string
	gpus  int
	has   string
}

func (m fakeMachine) Which(program string) string { return m.which[program] }
func (m fakeMachine) GPUs() int                   { return m.gpus }
func (m fakeMachine) Has(path string) bool        { return path == m.has }
func (m fakeMachine) Home() string                { return "/home/u" }

func here(s *Spec, look *fakeLook, m fakeMachine) []string {
	if m.which == nil {
		m.which = map[string]string{"python": "/usr/bin/python", "sh": "/bin/sh", "train": "/bin/train"}
	}
	return told(CheckHere(s, func(*Experiment) Surrounding { return look }, m))
}

func TestProgramsOfThisMachine(t *testing.T) {
	none := fakeMachine{which: map[string]string{"python3": "/usr/bin/python3"}}
	const missing = `command.0: python is not found on this machine; python3 is (write "python3", or activate an environment first)?`
	s := withCommand("python", "-c", "1")
	same(t, "python", here(s, &fakeLook{}, none), missing)
	same(t, "train", here(withCommand("train"), &fakeLook{}, none), "command.0: train is not found on this machine (install it, or activate its environment: `xrun run` uses the PATH that it is started with)?")
	for name, change := range map[string]func(*Spec){
		"container":         func(s *Spec) { s.Experiments[0].Container = &Container{Image: "x"} },
		"env":               func(s *Spec) { s.Experiments[0].Env = map[string]string{"PATH": "/x"} },
		"prelude":           func(s *Spec) { s.Hosts[0].Prelude = []string{"module load python"} },
		"host.env":          func(s *Spec) { s.Hosts[0].Env = map[string]string{"PATH": "/x"} },
		"another machine":   func(s *Spec) { s.Hosts[0].Kind = "ssh" },
		"a path":            func(s *Spec) { s.Experiments[0].Command = []string{"/opt/python"} },
		"a placeholder":     func(s *Spec) { s.Experiments[0].Command = []string{"{python}"} },
		"not on this host":  func(s *Spec) { s.Experiments[0].Needs.Hosts = []string{"other"} },
		"the whole in word": func(s *Spec) { s.Experiments[0].Command = []string{"python x"} },
	} {
		s := withCommand("python", "-c", "1")
		change(s)
		same(t, name, here(s, &fakeLook{}, none))
	}
	s.Hosts = append(s.Hosts, Host{Name: "far", Kind: "ssh"})
	got := here(s, &fakeLook{}, none)
	same(t, "one of two", got, `command.0: python is not found on this machine; python3 is (host local) (write "python3", or activate an environment first)?`)
}

func TestGPUsOfThisMachine(t *testing.T) {
	s := withCommand("train")
	s.Experiments[0].Needs.GPUs, s.Hosts[0].GPUs.Auto = 2, true
	same(t, "none", here(s, &fakeLook{}, fakeMachine{}), "needs.gpus: no GPU: 2 are needed, and this machine, the only host, has none (declare the host that has them, or plan for none: needs: gpus: 0)?")
	same(t, "some", here(s, &fakeLook{}, fakeMachine{gpus: 1}))
	s.Hosts = append(s.Hosts, Host{Name: "far", Kind: "ssh", GPUs: GPUs{Auto: true}})
	same(t, "elsewhere", here(s, &fakeLook{}, fakeMachine{}))
	s = withCommand("python", "train.py")
	look := &fakeLook{files: map[string]string{"train.py": ""}, text: map[string]string{"train.py": "model.cuda()\n"}}
	same(t, "asked for", here(s, look, fakeMachine{gpus: 1}), "command.1: train.py asks for a GPU (.cuda()), and the trials see none: needs.gpus is not set (add needs: gpus: 1)?")
	look.text["train.py"] = "if torch.cuda.is_available(): model.cuda()"
	same(t, "asked for where there is one", here(s, look, fakeMachine{gpus: 1}))
}

func TestEnvironmentsAreNotShipped(t *testing.T) {
	look := &fakeLook{left: []Left{{Path: ".venv", Environment: true, Abs: "/r/.venv"}}, files: map[string]string{"train.py": ""}}
	s := withCommand("python", "train.py")
	const local = `command.0: no environment: .venv is not shipped and not active: python here is /usr/bin/python (` + "`. /r/.venv/bin/activate` before `xrun run`" + `, or in the prelude of a host of kind local)?`
	same(t, "local", here(s, look, fakeMachine{}), local)
	same(t, "active", here(s, look, fakeMachine{which: map[string]string{"python": "/r/.venv/bin/python"}}))
	same(t, "no python at all", here(s, look, fakeMachine{which: map[string]string{"x": ""}}), strings.Replace(local, "/usr/bin/python", "not found", 1))
	same(t, "none in the tree", here(s, &fakeLook{}, fakeMachine{}))
	s.Hosts[0].Kind = "ssh"
	same(t, "far", here(s, look, fakeMachine{}), `command.0: no environment: .venv is not shipped, and host local has no prelude that activates one (make one there with setup, or activate one that is there in the prelude of the host: prelude: [". /path/to/venv/bin/activate"])?`)
	s.Hosts[0].Prelude = []string{". /v/bin/activate"}
	same(t, "with a prelude", here(s, look, fakeMachine{}))
	s = withCommand("uv", "run", "train.py")
	same(t, "a manager", here(s, look, fakeMachine{which: map[string]string{"uv": "/bin/uv"}}))
	s = withCommand("python", "train.py")
	s.Experiments[0].Setup = &Setup{Command: []string{"train"}}
	same(t, "setup", here(s, look, fakeMachine{}))
}

func TestIgnoredDirectoriesThatLookLikeCode(t *testing.T) {
	look := &fakeLook{files: map[string]string{"train.py": ""}, text: map[string]string{"train.py": "import os\nfrom models.net import Net\n"}}
	s := withCommand("python", "train.py")
	for name, c := range map[string]struct {
		left Left
		want string
	}{
		"a package": {
			Left{Path: "lib", Package: true, Why: "git ignores it (.gitignore:1: lib)"},
			`code: lib looks like code, and is not shipped: git ignores it (.gitignore:1: lib) (ship it: code: include: ["lib/**"]; if it is none, code: exclude: ["lib"] says so)?`,
		},
		"imported": {
			Left{Path: "models", Why: "git ignores it (.gitignore:1: models)"},
			`code: train.py imports models, which is not shipped: git ignores it (.gitignore:1: models) (ship it: code: include: ["models/**"]; if it is none, code: exclude: ["models"] says so)?`,
		},
		"imported and excluded": {
			Left{Path: "models", Why: `code.exclude names it ("models")`},
			`code: train.py imports models, which is not shipped: code.exclude names it ("models") (take it out of code.exclude)?`,
		},
		"excluded":   {Left{Path: "lib", Package: true, Why: `code.exclude names it ("lib")`}, ""},
		"some files": {Left{Path: "outputs", Why: "git ignores it"}, ""},
	} {
		look.left = []Left{c.left}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		same(t, name, here(s, look, fakeMachine{}), want...)
	}
	look.left = []Left{{Path: "lib", Package: true, Why: "git ignores it"}, {Path: "models", Why: "git ignores it"}}
	s.Experiments = []Experiment{{Name: "x", Command: []string{"train"}}, s.Experiments[0], s.Experiments[0]}
	if got := here(s, look, fakeMachine{}); len(got) != 2 {
		t.Errorf("each once, of all that ship the same: %q", got)
	}
}

func TestDataThatIsNotShipped(t *testing.T) {
	look := &fakeLook{files: map[string]string{
		"train.py": "", "data/train.bin": "-git ignores it (.gitignore:1: data)", "small.csv": "", "big.bin": "heavy", "out/x": "-git ignores it", "../corpus/a": "",
	}}
	for arg, want := range map[string]string{
		"--data=data/":          `command.2: no data: data is here, but is not shipped: git ignores it (.gitignore:1: data) (write its absolute path, or declare it (here data: data: "v1" and {data.data}, on each host data: data: "/its/path"), or ship it: code: include: ["data/**"])?`,
		"data/train.bin":        `command.2: no data: data/train.bin is here, but is not shipped: git ignores it (.gitignore:1: data) (write its absolute path, or declare it (here data: train: "v1" and {data.train}, on each host data: train: "/its/path"), or ship it: code: include: ["data/train.bin"])?`,
		"data_dir=./data":       `command.2: no data: ./data is here, but is not shipped: git ignores it (.gitignore:1: data) (write its absolute path, or declare it (here data: data: "v1" and {data.data}, on each host data: data: "/its/path"), or ship it: code: include: ["data/**"])?`,
		"--data=data/valid.bin": `command.2: no data: data/valid.bin is not found: neither in the code nor beside it (declare it (here data: valid: "v1" and {data.valid}, on each host data: valid: "/its/path"))?`,
		"--data=big.bin":        `command.2: big.bin is shipped with the code: each slot gets a copy of 200 MiB (declare it (here data: big: "v1" and {data.big}, on each host data: big: "/its/path"))?`,
		"--data=small.csv":      "",
		"--out=out":             "",
		"--log-dir=data":        "",
		"out":                   "",
		"--dataset=allenai/c4":  "",
		"--data={data.x}":       "",
		"--lr=0.1":              "",
		"--url=s3://data/x.bin": "",
		"--text=data is nice":   "",
		"{params}":              "",
	} {
		var w []string
		if want != "" {
			w = []string{want}
		}
		same(t, arg, here(withCommand("python", "train.py", arg), look, fakeMachine{}), w...)
	}
	s := withCommand("python", "train.py", "--data", "data", "--lr", "1")
	if got := here(s, look, fakeMachine{}); len(got) != 1 {
		t.Errorf("an option and its value: %q", got)
	}
	s = withCommand("python", "train.py", "--data=/home/u/corpus")
	m := fakeMachine{has: "/home/u/corpus"}
	same(t, "absolute, here", here(s, look, m))
	s.Hosts[0].Kind = "ssh"
	same(t, "absolute, there", here(s, look, m), "command.2: /home/u/corpus is a path of this machine, and host local is another (declare it as data and say in hosts where it lies on each)?")
}
