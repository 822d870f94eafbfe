package plan

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A program is what a command starts: a file, or a module of Python, as far as the command alone tells.
type program struct {
	at   int    // its index in the argv
	name string // a path as the command's directory sees it, or a dotted name
	kind programKind
	by   string // the interpreter, as the command names it

	inLine bool // of shell: at is the index of the line
}

type programKind int

const (
	direct programKind = iota // executed itself
	script                    // read by an interpreter
	module                    // found by Python's rules
)

// flags are the options of a launcher that are known for certain, separated by spaces. An unknown option may take a
// value: behind it nothing is certain.
type flags struct {
	plain, value string
	module, stop string         // -m, and those behind which no file follows
	group        *regexp.Regexp // letters that may stand together
	prefix       string         // options whose value follows in the same word
	dashed       bool           // _ and - are one
}

var interpreters = map[string]flags{
	"python": {value: "-W -X --check-hash-based-pycs", module: "-m", stop: "-c -V --version -h --help", group: regexp.MustCompile(`^-[bBdEiIOPqsSuvx]+$`), prefix: "-W -X"},
	"sh": {
		plain: "--login --norc --noprofile --posix", value: "-o +o --rcfile --init-file", stop: "-s --version --help",
		group: regexp.MustCompile(`^[-+][abefhilmnptuvxBCEHT]+$`),
	},
	"node":    {plain: "--no-warnings --expose-gc --enable-source-maps", value: "-r --require --import --loader", stop: "-e --eval -p --print -v --version -i"},
	"perl":    {group: regexp.MustCompile(`^-[wWTtsSXu]+$`), value: "-I", prefix: "-I -M -m", stop: "-e -E -v -n -p"},
	"Rscript": {plain: "--vanilla --no-save --no-restore --no-environ --no-init-file --slave --no-echo --verbose", stop: "-e --version --help"},
	"ruby":    {group: regexp.MustCompile(`^-[wW]+$`), value: "-I -r", prefix: "-I -r", stop: "-e -v -n -p"},
	"julia":   {plain: "--project -q", value: "-t -p -L", prefix: "-O -g -t", stop: "-e -E -v"},
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ash": true, "zsh": true, "ksh": true}

// wrappers run the rest of their argv as a command.
var wrappers = map[string]flags{
	"env":            {plain: "-i -", value: "-u -C --unset", stop: "-S"},
	"nohup":          {},
	"setsid":         {plain: "-w --wait -f --fork"},
	"nice":           {value: "-n", prefix: "-n", group: regexp.MustCompile(`^-[0-9]+$`)},
	"ionice":         {value: "-c -n", prefix: "-c -n"},
	"stdbuf":         {value: "-i -o -e", prefix: "-i -o -e"},
	"time":           {plain: "-p -v", value: "-f -o"},
	"sudo":           {plain: "-E -H -n -S -A -b --preserve-env --non-interactive", value: "-u -g -C -h -p"},
	"mpirun":         {plain: "--allow-run-as-root --oversubscribe", value: "-n -np -H --host --hostfile -x"},
	"mpiexec":        {value: "-n -np"},
	"uv run":         {plain: "--frozen --locked --no-sync --isolated --no-project --all-extras --quiet -q --verbose -v --offline --active", value: "--with --extra --group --python -p --env-file --index-url", module: "-m --module", dashed: false},
	"poetry run":     {},
	"pdm run":        {},
	"pipenv run":     {},
	"conda run":      {plain: "--no-capture-output --live-stream", value: "-n --name -p --prefix"},
	"mamba run":      {plain: "--no-capture-output --live-stream", value: "-n --name -p --prefix"},
	"micromamba run": {value: "-n --name -p --prefix"},
}

// starters of PyTorch and its friends take a script of Python.
var starters = map[string]flags{
	"torchrun": {
		plain: "--standalone --run-path", module: "-m --module", stop: "--no-python -h --help", prefix: "-r -t", dashed: true,
		value: "--nproc-per-node --nnodes --node-rank --master-addr --master-port --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --max-restarts --monitor-interval --start-method --role --log-dir --local-addr --redirects --tee -r -t",
	},
	"accelerate launch": {
		plain: "--multi-gpu --cpu --mps --tpu --use-deepspeed --use-fsdp --quiet -q --debug --same-network", module: "-m --module", stop: "--no-python -h --help", dashed: true,
		value: "--num-processes --num-machines --mixed-precision --config-file --gpu-ids --machine-rank --main-process-ip --main-process-port --dynamo-backend --num-cpu-threads-per-process --deepspeed-config-file --zero-stage --gradient-accumulation-steps --gradient-clipping",
	},
	"deepspeed": {
		plain: "--no-local-rank --force-multi --enable-each-rank-log", module: "--module", stop: "--no-python -h --help", dashed: true,
		value: "--num-gpus --num-nodes --include -i --exclude -e --hostfile -H --master-port --master-addr --launcher --launcher-args",
	},
}

var pythonName = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)

// programOf finds what an argv starts; false where that is not certain.
func programOf(argv []string) (program, bool) { return programAt(argv, 0) }

func programAt(argv []string, at int) (program, bool) {
	if at >= len(argv) {
		return program{}, false
	}
	word, ok := literal(argv[at])
	if !ok {
		return program{}, false
	}
	base := path.Base(word)
	if strings.Contains(word, "/") && !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~") {
		return program{at: at, name: word, kind: direct}, true
	}
	name, next := base, at+1
	if next < len(argv) {
		if _, two := wrappers[base+" "+argv[next]]; two || base+" "+argv[next] == "accelerate launch" {
			name, next = base+" "+argv[next], next+1
		}
	}
	switch {
	case pythonName.MatchString(base):
		return interpreted(argv, next, "python", base)
	case shells[base]:
		return interpreted(argv, next, "sh", base)
	}
	if _, ok := interpreters[base]; ok {
		return interpreted(argv, next, base, base)
	}
	if f, ok := starters[name]; ok {
		return f.program(argv, next, name)
	}
	if f, ok := wrappers[name]; ok {
		return wrapped(f, argv, next, name)
	}
	return program{}, false
}

func interpreted(argv []string, at int, kind, by string) (program, bool) {
	p, ok := interpreters[kind].program(argv, at, by)
	if ok && p.kind == module && (p.name == "torch.distributed.run" || p.name == "torch.distributed.launch") {
		return starters["torchrun"].program(argv, p.at+1, p.name)
	}
	return p, ok
}

func wrapped(f flags, argv []string, at int, name string) (program, bool) {
	at, isModule, ok := f.behind(argv, at, name)
	if !ok || at >= len(argv) {
		return program{}, false
	}
	if isModule || name == "uv run" && strings.HasSuffix(argv[at], ".py") {
		return named(argv, at, isModule, name)
	}
	return programAt(argv, at)
}

// behind is the index of the command that a wrapper of that name runs.
func (f flags) behind(argv []string, at int, name string) (next int, isModule, ok bool) {
	at, isModule, ok = f.skip(argv, at)
	for (name == "env" || name == "sudo") && at < len(argv) && strings.Contains(argv[at], "=") {
		at++
	}
	return at, isModule, ok
}

// program is the first argument that is no option.
func (f flags) program(argv []string, at int, by string) (program, bool) {
	at, isModule, ok := f.skip(argv, at)
	if !ok {
		return program{}, false
	}
	return named(argv, at, isModule, by)
}

func named(argv []string, at int, isModule bool, by string) (program, bool) {
	if at >= len(argv) {
		return program{}, false
	}
	name, ok := literal(argv[at])
	if !ok || name == "" || name == "-" {
		return program{}, false
	}
	if isModule {
		return program{at: at, name: name, kind: module, by: by}, true
	}
	return program{at: at, name: name, kind: script, by: by}, true
}

// skip is the index of the first argument behind the options; false where one of them is not known.
func (f flags) skip(argv []string, at int) (next int, isModule, ok bool) {
	for at < len(argv) {
		arg, ok := literal(argv[at])
		name, _, attached := strings.Cut(arg, "=")
		if f.dashed {
			name = strings.ReplaceAll(name, "_", "-")
		}
		switch {
		case !ok:
			// A placeholder behind --name= is a value, any other may be anything.
			name, _, attached = strings.Cut(argv[at], "=")
			if !attached || !strings.HasPrefix(name, "--") || strings.ContainsAny(name, "{}") {
				return 0, false, false
			}
			at++
		case arg == "--":
			return at + 1, false, true
		case has(f.stop, name):
			return 0, false, false
		case has(f.plain, arg):
			at++
		case has(f.module, name):
			return at + 1, true, !attached
		case has(f.value, name) && !attached:
			at += 2
		case f.group != nil && f.group.MatchString(arg):
			at++
		case f.group != nil && len(arg) > 2 && strings.HasSuffix(arg, "o") && f.group.MatchString(arg[:len(arg)-1]):
			at += 2 // -euo pipefail
		case attached && strings.HasPrefix(arg, "--"), attachedShort(f.prefix, arg):
			at++
		case strings.HasPrefix(arg, "-") && arg != "-":
			return 0, false, false
		default:
			return at, false, true
		}
	}
	return at, false, true
}

func has(words, word string) bool {
	return word != "" && strings.Contains(" "+words+" ", " "+word+" ")
}

func attachedShort(prefixes, arg string) bool {
	for p := range strings.FieldsSeq(prefixes) {
		if strings.HasPrefix(arg, p) && len(arg) > len(p) {
			return true
		}
	}
	return false
}

// literal is the text of an argument without placeholders.
func literal(arg string) (string, bool) {
	t := parseTemplate(arg)
	for _, s := range t {
		if s.hole {
			return "", false
		}
	}
	return string(t.appendTo(nil, &Binding{}, false)), true
}

// A command is one argv of the spec.
type commandAt struct {
	argv []string
	path []string // below the experiment
}

// UsesCode reports whether a command of e starts something that is part of its code, as far as the commands tell.
func (e *Experiment) UsesCode() bool {
	return slices.ContainsFunc(e.commands(), func(c commandAt) bool { return len(programsOf(c.argv)) > 0 })
}

// commands are those that run in the code of e.
func (e *Experiment) commands() []commandAt {
	cs := []commandAt{{e.Command, []string{"command"}}}
	if e.Setup != nil {
		cs = append(cs, commandAt{e.Setup.Command, []string{"setup", "command"}})
	}
	if e.Evaluate != nil {
		cs = append(cs, commandAt{e.Evaluate.Command, []string{"evaluate", "command"}})
	}
	if e.Loop != nil && e.Loop.Tests != nil {
		cs = append(cs, commandAt{e.Loop.Tests.Command, []string{"loop", "tests", "command"}})
	}
	return cs
}
