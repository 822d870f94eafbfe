package plan

import (
	"strings"
	"testing"
)

// Of a line of shell only the plainest is read.
func TestProgramsOfALineOfShell(t *testing.T) {
	for line, want := range map[string]string{
		"python train.py --lr={lr} | tee log.txt":        "train.py",
		"python train.py --lr={lr} >out/log 2>&1":        "train.py",
		"python prepare.py && torchrun train.py; ./x.sh": "prepare.py train.py ./x.sh",
		"cd src && python train.py":                      "",
		"python \"$PROGRAM\"":                            "",
		"for i in 1 2; do python train.py; done":         "",
		"python train.py $(cat args)":                    "",
		"echo loss: 1":                                   "",
	} {
		var got []string
		for _, p := range programsOf([]string{"bash", "-ec", line}) {
			got = append(got, p.name)
			if p.at != 2 || !p.inLine {
				t.Errorf("%s: %+v", line, p)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// What a command starts is found through launchers, and only where that is certain.
func TestProgramOf(t *testing.T) {
	for line, want := range map[string]string{
		"python train.py --lr 1":                          "script 1 train.py",
		"python3 -u train.py":                             "script 2 train.py",
		"python3.12 -X faulthandler -W ignore a/b.py":     "script 5 a/b.py",
		"python -Wignore -uB train.py":                    "script 3 train.py",
		"python -m pkg.train --x":                         "module 2 pkg.train",
		"python -c print(1)":                              "",
		"python -z train.py":                              "", // may take a value
		"python -":                                        "",
		"python":                                          "",
		"python {script}":                                 "",
		"python {params} train.py":                        "",
		"/usr/bin/python3 train.py":                       "script 1 train.py",
		"/opt/bin/train --x":                              "",
		"~/bin/train":                                     "",
		"./train.sh {lr}":                                 "direct 0 ./train.sh",
		"bin/train":                                       "direct 0 bin/train",
		".venv/bin/python train.py":                       "direct 0 .venv/bin/python",
		"train --lr":                                      "",
		"bash -euo pipefail run.sh":                       "script 3 run.sh",
		"bash -e -o pipefail run.sh":                      "script 4 run.sh",
		"sh -c x":                                         "",
		"sh -ec x":                                        "",
		"sh -- run.sh":                                    "script 2 run.sh",
		"env A=1 B={x} python train.py":                   "script 4 train.py",
		"env -u A python train.py":                        "script 4 train.py",
		"nohup nice -n 5 python train.py":                 "script 5 train.py",
		"nice -10 python train.py":                        "script 3 train.py",
		"time -f %e -o log python train.py":               "script 6 train.py",
		"sudo -E -u me A=1 python train.py":               "script 6 train.py",
		"sudo --chroot /x python train.py":                "",
		"ash run.sh":                                      "script 1 run.sh",
		"torchrun --nproc_per_node=2 train.py":            "script 2 train.py",
		"torchrun --nproc_per_node={n} train.py":          "script 2 train.py",
		"torchrun --nproc-per-node 2 --standalone t.py":   "script 4 t.py",
		"torchrun -m pkg.train":                           "module 2 pkg.train",
		"torchrun --no_python ./x":                        "",
		"torchrun --new-flag 3 t.py":                      "",
		"python -m torch.distributed.run --nnodes 1 t.py": "script 5 t.py",
		"accelerate launch --num_processes 2 train.py":    "script 4 train.py",
		"accelerate config":                               "",
		"deepspeed --num_gpus 2 train.py":                 "script 3 train.py",
		"uv run train.py":                                 "script 2 train.py",
		"uv run --frozen python -m a.b":                   "module 5 a.b",
		"uv run --with numpy -- python t.py":              "script 6 t.py",
		"uv pip install x":                                "",
		"poetry run python t.py":                          "script 3 t.py",
		"conda run -n base python t.py":                   "script 5 t.py",
		"Rscript --vanilla a.R":                           "script 2 a.R",
		"node --max-old-space-size=4096 a.js":             "script 2 a.js",
		"perl -w -Ilib a.pl":                              "script 3 a.pl",
		"julia --project=. -O3 a.jl":                      "script 3 a.jl",
		"mpirun -np 4 python t.py":                        "script 4 t.py",
		"docker run x python t.py":                        "",
	} {
		got := ""
		if p, ok := programOf(strings.Fields(line)); ok {
			got = []string{"direct", "script", "module"}[p.kind] + " " + string(rune('0'+p.at)) + " " + p.name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
