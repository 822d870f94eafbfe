package plan

import (
	"slices"
	"strings"
)

// SetupEnv are the entries of env that use no parameter and no seed: those that setup gets, which is the same for all
// trials.
func (e *Experiment) SetupEnv() map[string]string {
	params, _ := e.declared()
	own := append(params, "seed")
	out := map[string]string{}
	for name, text := range e.Env {
		if !slices.ContainsFunc(parseTemplate(text), func(s segment) bool { return s.hole && slices.Contains(own, s.text) }) {
			out[name] = text
		}
	}
	return out
}

// SetupKey names what the setup of e makes: its command, the bytes of its key files (parts are those of a trial) and its
// environment. Where they are the same it need not run again.
func (e *Experiment) SetupKey(parts Parts) string {
	var list []string
	for name, hash := range parts {
		if name == "setup" || strings.HasPrefix(name, "setup: ") {
			list = append(list, name+"="+hash)
		}
	}
	env := e.SetupEnv()
	for _, name := range sortedKeys(env) {
		list = append(list, "env "+name+"="+env[name])
	}
	slices.Sort(list)
	return hashList(list)
}
