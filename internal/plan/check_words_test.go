package plan

import (
	"strings"
	"testing"
)

func TestWordsOfAShell(t *testing.T) {
	const line = `let one read the line: ["sh", "-c", "…"]`
	look := &fakeLook{
		files: map[string]string{"train.py": "", "home.py": ""},
		text:  map[string]string{"home.py": "p = os.path.expanduser(a.data)"},
	}
	for command, want := range map[string]string{
		"python train.py | tee log":        `command.2: "|" is passed to the program: no shell reads a command (leave it out: xrun keeps what the program prints (` + "`xrun logs`" + `); or ` + line + `)?`,
		"python train.py --lr=1 > log":     `command.3: ">" is passed to the program: no shell reads a command (leave it out: xrun keeps what the program prints (` + "`xrun logs`" + `); or ` + line + `)?`,
		"python train.py && echo done":     `command.2: "&&" is passed to the program: no shell reads a command (` + line + `)?`,
		"python train.py --data=~/corpus":  `command.2: ~/corpus is passed as it is: no shell reads a command and puts the home directory for ~ (write the absolute path, or declare it as data)?`,
		"python train.py --data ~/corpus":  `command.3: ~/corpus is passed as it is: no shell reads a command and puts the home directory for ~ (write the absolute path, or declare it as data)?`,
		"~/venv/bin/python train.py":       `command.0: ~/venv/bin/python is passed as it is: no shell reads a command and puts the home directory for ~ (write the absolute path, or declare it as data)?`,
		"python train.py --lr=$lr":         `command.2: $lr is passed as it is: no shell reads a command and fills in $lr (write {lr})?`,
		"python train.py --seed $SEED":     `command.3: $SEED is passed as it is: no shell reads a command and fills in $SEED (write {seed})?`,
		"python train.py --data=$DATA/x":   `command.2: $DATA/x is passed as it is: no shell reads a command and fills in $DATA (write its value, or ` + line + `)?`,
		"source venv/bin/activate":         `command.0: "source" is a word of the shell, and no shell reads a command (activate the environment before ` + "`xrun run`" + `, or in the prelude of a host, and begin with the program)`,
		"cd src && python train.py":        `command.0: "cd" is a word of the shell, and no shell reads a command (code: path names the directory where the command starts; begin with the program)`,
		"CUDA_VISIBLE_DEVICES=0 python x":  `command.0: CUDA_VISIBLE_DEVICES=0 is looked for as a program: no shell reads a command (write needs: gpus: 1, and xrun sets it)`,
		"OMP_NUM_THREADS=1 python x":       `command.0: OMP_NUM_THREADS=1 is looked for as a program: no shell reads a command (write env: OMP_NUM_THREADS: "1")`,
		"python home.py --data=~/corpus":   "",
		"python train.py --sep | --lr 1":   "",
		"python train.py --re=^a$ b$x 5$":  "",
		"python train.py +a=1 ~model.head": "",
		"awk $NF > x":                      "",
		"timeout 5 bash -c x | tee":        "",
		"env A=1 python train.py":          "",
	} {
		s := withCommand(strings.Fields(command)...)
		s.Experiments[0].Params = map[string]Value{"lr": IntValue(1)}
		var wants []string
		if want != "" {
			wants = []string{want}
		}
		same(t, command, told(CheckCode(s, func(*Experiment) Look { return look })), wants...)
	}
}

// The default of an option is a path like any other: the program finds it in the checkout, and a trial does not.
func TestDataThatTheProgramNames(t *testing.T) {
	look := &fakeLook{
		files: map[string]string{"train.py": "", "data/train.csv": "-git ignores it (.gitignore:1: data)", "data/results/x": "-git ignores it", "data/small.csv": ""},
		text:  map[string]string{"train.py": "p.add_argument('--data', default=\"data/train.csv\")\nopen('data/results/x', 'w')\nopen(\"data/small.csv\"); open('data/gone.csv')\nopen('data/train.csv')"},
	}
	const want = `command.1: no data: train.py names data/train.csv, which is here, but is not shipped: git ignores it (.gitignore:1: data) (give the program its absolute path, or declare it (here data: train: "v1" and {data.train}, on each host data: train: "/its/path"), or ship it: code: include: ["data/train.csv"])?`
	same(t, "default", here(withCommand("python", "train.py", "--lr={lr}"), look, fakeMachine{}), want)
	for name, argv := range map[string][]string{
		"a path":        {"python", "train.py", "--where=/corpus"},
		"a placeholder": {"python", "train.py", "--data={root}"},
		"an option":     {"python", "train.py", "--data", "x"},
		"a module":      {"python", "-m", "train"},
	} {
		same(t, name, here(withCommand(argv...), look, fakeMachine{}))
	}
	s := withCommand("python", "train.py")
	s.Experiments[0].Setup = &Setup{Command: []string{"sh", "fetch.sh"}}
	same(t, "setup", here(s, look, fakeMachine{}))
}

func TestAnObjectiveThatGoesTheWrongWay(t *testing.T) {
	for _, c := range []struct{ metric, direction, want string }{
		{"val_loss", "maximize", `objective.direction: the greatest val_loss would be the best (write "minimize", unless more of it is better)?`},
		{"test/acc@1", "minimize", `objective.direction: the lowest test/acc@1 would be the best (write "maximize", unless less of it is better)?`},
		{"val_loss", "minimize", ""},
		{"accuracy", "maximize", ""},
		{"glossary", "maximize", ""},
		{"acc_error", "minimize", ""},
		{"acc_error", "maximize", ""},
		{"score", "minimize", ""},
	} {
		s := withCommand("train")
		s.Experiments[0].Objective = Objective{Metric: c.metric, Direction: c.direction}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		same(t, c.metric, told(Check(s)), want...)
	}
}
