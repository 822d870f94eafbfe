package plan

import "slices"

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
