package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A name that says it is a secret, and a value that can be one: no word, no path, no placeholder.
var (
	secretName = regexp.MustCompile(`(?i)(^|_)((API|ACCESS|SECRET|PRIVATE|ACCOUNT)_?KEY|(API|ACCESS|AUTH|BEARER|HF|HUB|GH|GITHUB|WANDB)_?TOKEN|SECRET|PASSWORD|PASSWD)$`)
	secretText = regexp.MustCompile(`^[\w.+=:-][\w.+/=:-]{11,}$`)
)

// reserved checks one name of a variable that a spec sets; hint is what to say instead of CUDA_VISIBLE_DEVICES.
func (c *checker) reserved(name, hint string, path ...string) {
	switch {
	case strings.HasPrefix(name, "XRUN_"):
		c.add(path, "give it another name", "names that begin with XRUN_ are reserved")
	case name == "CUDA_VISIBLE_DEVICES":
		c.add(path, hint, "xrun itself gives each trial its GPUs")
	}
}

// environment checks the names of the variables that an experiment's programs get.
func (c *checker) environment(e *Experiment) {
	c.names(e.Env, e.Secrets)
	if e.Evaluate != nil {
		c.names(e.Evaluate.Env, e.Evaluate.Secrets, "evaluate")
	}
}

func (c *checker) names(env map[string]string, secrets map[string]Secret, path ...string) {
	const hint = "say needs: gpus: 1"
	for _, name := range sortedKeys(env) {
		at := append(slices.Clone(path), "env", name)
		c.reserved(name, hint, at...)
		if secretName.MatchString(name) && secretText.MatchString(env[name]) {
			c.warn(at, fmt.Sprintf("say where it comes from: secrets: %s: {from: \"env\", name: %q}", name, name),
				"the value of %s would stand in the ledger and in events.jsonl", name)
		}
	}
	for _, name := range sortedKeys(secrets) {
		at := append(slices.Clone(path), "secrets", name)
		c.reserved(name, hint, at...)
		if _, both := env[name]; both {
			c.add(at, "keep one of them", "%s is in env and in secrets", name)
		}
	}
}

// host checks what a host declares.
func (c *checker) host(h *Host) {
	for _, name := range sortedKeys(h.Env) {
		c.reserved(name, "say which GPUs serve: hosts: "+h.Name+": gpus: [0, 1]", "hosts", h.Name, "env", name)
	}
	c.gpus(h)
	c.hostTexts(h)
}

// gpus checks a list of GPUs. An index may be written as a number or as text.
func (c *checker) gpus(h *Host) {
	seen := map[string]bool{}
	for i, v := range h.GPUs.List {
		path := []string{"hosts", h.Name, "gpus", strconv.Itoa(i)}
		key := strings.ToLower(v.text)
		n, err := strconv.Atoi(v.text)
		if err == nil && n >= 0 {
			key = strconv.Itoa(n)
		}
		switch {
		case v.text == "":
			c.add(path, "", "this names no GPU")
		case err == nil && n < 0:
			c.add(path, "", "%d is no index of a GPU: they count from 0", n)
		case seen[key]:
			c.add(path, "", "GPU %s stands there twice", v.text)
		}
		seen[key] = true
	}
}
