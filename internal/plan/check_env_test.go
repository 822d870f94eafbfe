package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariablesThatAreOursAreNamedWhereverTheyAreSet(t *testing.T) {
	const ours, give = "names that begin with XRUN_ are reserved (give it another name)", "xrun itself gives each trial its GPUs (say needs: gpus: 1)"
	text := map[string]string{"XRUN_X": "1", "CUDA_VISIBLE_DEVICES": "0", "OK": ""}
	secret := map[string]Secret{"XRUN_Y": {}, "CUDA_VISIBLE_DEVICES": {}, "FINE": {}}
	findings{
		"of an experiment": {
			func(e *Experiment) { e.Env = text },
			[]string{"experiments.lr.env.CUDA_VISIBLE_DEVICES: " + give, "experiments.lr.env.XRUN_X: " + ours},
		},
		"of its evaluator": {
			func(e *Experiment) { e.Evaluate = &Evaluate{Command: []string{"e"}, Env: text} },
			[]string{"experiments.lr.evaluate.env.CUDA_VISIBLE_DEVICES: " + give, "experiments.lr.evaluate.env.XRUN_X: " + ours},
		},
		"secrets": {
			func(e *Experiment) {
				e.Secrets, e.Evaluate = secret, &Evaluate{Command: []string{"e"}, Secrets: secret}
			},
			[]string{
				"experiments.lr.secrets.CUDA_VISIBLE_DEVICES: " + give, "experiments.lr.secrets.XRUN_Y: " + ours,
				"experiments.lr.evaluate.secrets.CUDA_VISIBLE_DEVICES: " + give, "experiments.lr.evaluate.secrets.XRUN_Y: " + ours,
			},
		},
		"a name in both": {
			func(e *Experiment) {
				e.Env, e.Secrets = map[string]string{"TOKEN": "x"}, map[string]Secret{"TOKEN": {}, "KEY": {}}
				e.Evaluate = &Evaluate{Command: []string{"e"}, Env: map[string]string{"KEY": ""}, Secrets: map[string]Secret{"KEY": {}}}
			},
			[]string{
				"experiments.lr.secrets.TOKEN: TOKEN is in env and in secrets (keep one of them)",
				"experiments.lr.evaluate.secrets.KEY: KEY is in env and in secrets (keep one of them)",
			},
		},
	}.check(t)
	s := specOf(experiment())
	s.Hosts[0].Env = text
	s.Agents = []Agent{{Name: "a", Env: []string{"KEY", "XRUN_STATE"}, Secrets: map[string]Secret{"XRUN_Y": {}, "KEY": {}}}}
	want := []string{
		"hosts.local.env.CUDA_VISIBLE_DEVICES: xrun itself gives each trial its GPUs (say which GPUs serve: hosts: local: gpus: [0, 1])",
		"hosts.local.env.XRUN_X: " + ours,
		"agents.a.env.1: names that begin with XRUN_ are reserved (pass it under another name)",
		"agents.a.secrets.KEY: KEY is in env and in secrets (keep one of them)",
		"agents.a.secrets.XRUN_Y: " + ours,
	}
	if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
}

func TestADeadlineIsATimeOfDayOrADuration(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "07:30": true, "7:30": true, "8h": true, "1h30m": true,
		"24:00": false, "7.30": false, "8": false, "0s": false, "-1h": false, "07:61": false, "tomorrow": false, "07:30 ": false, "23:59:59": false, "8h later": false,
	} {
		s := specOf(experiment())
		s.Settings.Deadline = text
		var want []string
		if !good {
			want = []string{`settings.deadline: "` + text + `" is neither a time of day nor a duration above 0 (write it like "07:30" or "8h")`}
		}
		if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNoOtherProgramIsGivenANULEither(t *testing.T) {
	const said = `: this text holds a NUL byte, which no program can be given (remove the \u0000)`
	s := specOf(experiment(func(e *Experiment) {
		e.Secrets = map[string]Secret{"A": {Command: []string{"\x00"}}, "B": {Path: "\x00"}}
		e.Evaluate = &Evaluate{Command: []string{"e"}, Secrets: map[string]Secret{"C": {Path: "\x00"}}}
		e.Container = &Container{Image: "\x00", Args: []string{"", "\x00"}}
	}))
	s.Agents = []Agent{{Name: "a", Command: []string{"\x00"}, Args: []string{"\x00"}, Program: "\x00", Secrets: map[string]Secret{"D": {Path: "\x00"}}}}
	s.Settings.Notify = []Notify{{Command: []string{"n", "\x00"}}, {URL: &Secret{Path: "\x00"}}}
	want := []string{
		"experiments.lr.evaluate.secrets.C.path" + said, "experiments.lr.secrets.A.command.0" + said, "experiments.lr.secrets.B.path" + said,
		"experiments.lr.container.image" + said, "experiments.lr.container.args.1" + said,
		"agents.a.command.0" + said, "agents.a.args.0" + said, "agents.a.program" + said, "agents.a.secrets.D.path" + said,
		"settings.notify.0.command.1" + said, "settings.notify.1.url.path" + said,
	}
	if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsInPlainSight(t *testing.T) {
	const value = "0123456789abcdef0123"
	for _, c := range []struct{ name, value, want string }{
		{"WANDB_API_KEY", value, `env.WANDB_API_KEY: the value of WANDB_API_KEY would stand in the ledger and in events.jsonl (say where it comes from: secrets: WANDB_API_KEY: {from: "env", name: "WANDB_API_KEY"})?`},
		{"HF_TOKEN", "hf_" + value, `env.HF_TOKEN: the value of HF_TOKEN would stand in the ledger and in events.jsonl (say where it comes from: secrets: HF_TOKEN: {from: "env", name: "HF_TOKEN"})?`},
		{"WANDB_API_KEY", "", ""},
		{"WANDB_API_KEY", "{seed}" + value, ""},
		{"API_KEY", "/run/secrets/api-key", ""},
		{"PAD_TOKEN", "<|endoftext|>abcdef", ""},
		{"TOKENIZERS_PARALLELISM", value, ""},
		{"PASSWORD", "none", ""},
	} {
		s := withCommand("train")
		s.Experiments[0].Objective.Metric = "loss"
		s.Experiments[0].Env = map[string]string{c.name: c.value}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		same(t, c.name+"="+c.value, told(Check(s)), want...)
	}
}
