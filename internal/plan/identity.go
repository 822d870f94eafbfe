package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"
)

// idLen is the number of base32 characters of an id: 60 bits. Among a million trials two share an id with a chance of
// one in two million.
const idLen = 12

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// shortHash is the first idLen characters of the hash of s.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return idEncoding.EncodeToString(sum[:])[:idLen]
}

// hashJSON is shortHash of the JSON of v, which for the types of a Spec is canonical.
func hashJSON(v any) string {
	b, err := marshal(v)
	if err != nil {
		panic("plan: " + err.Error()) // the types of a Spec always encode
	}
	return shortHash(string(b))
}

// identity makes the parts and the id of the trials of one experiment. What is the same for all of them is hashed once.
type identity struct {
	command *Command
	shared  Parts
	base    string // the shared parts, for the id
	same    []sameInput
}

// newIdentity hashes what the trials of e have in common. setup are the files that setup.key names.
func newIdentity(e *Experiment, code string, setup []CodeFile, ups upstreams) *identity {
	shared := Parts{
		"code":      code,
		"objective": hashJSON([]any{e.Objective.Metric, e.Objective.Pick, e.Objective.From}),
	}
	// Only what is there: a field that a later version adds to the identity must not change the ids of trials without it.
	add := func(name string, set bool, v any) {
		if set {
			shared[name] = hashJSON(v)
		}
	}
	add("needs.gpus", e.Needs.GPUs > 0, e.Needs.GPUs)
	add("container", e.Container != nil, e.Container)
	if e.Evaluate != nil {
		measured := *e.Evaluate
		measured.Secrets = nil // where a key lies does not change a result
		add("evaluate", true, measured)
	}
	if e.Setup != nil {
		add("setup", true, e.Setup.Command)
		// What the globs find, not how they are written: also files that code.ignore keeps out of the code's id.
		for _, f := range setup {
			add("setup: "+f.Path, true, []string{f.Mode, f.SHA256})
		}
	}
	for name, v := range e.Data {
		add("data: "+name, true, v)
	}
	id := &identity{command: ParseCommand(e.Command, e.Env), shared: shared}
	for _, name := range sortedKeys(e.Inputs) {
		part := "inputs: " + name
		if in := e.Inputs[name]; in.Trial == "same" && len(ups[in.Experiment].trials) > 0 {
			id.same = append(id.same, sameInput{part, in, ups.index(in)})
		} else {
			shared[part] = ups.hash(in, ups[in.Experiment].ids())
		}
	}
	id.base = shared.join()
	return id
}

// trial fills in ID, Parts and Command of a trial whose Params and Seed are set.
func (id *identity) trial(t *Trial) {
	b := Binding{Params: t.Params, Seed: t.Seed}
	t.Command = id.command.Argv(b)
	own := Parts{
		"command": hashList(id.command.fillArgv(b, true)),
		"params":  shortHash(pointText(t.Params)),
		"seed":    strconv.FormatInt(t.Seed, 10),
	}
	if len(id.command.env) > 0 {
		own["env"] = hashList(id.command.fillEnv(b, true))
	}
	for _, in := range id.same {
		own[in.part] = in.hash(t.Params)
	}
	t.Code = id.shared["code"]
	t.ID = shortHash("trial 1\n" + id.base + own.join())
	t.Parts = own
	for k, v := range id.shared {
		t.Parts[k] = v
	}
}

// join lists the parts, one a line, sorted by name.
func (p Parts) join() string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		value := p[name]
		if strings.Contains(name, "\n") { // a file may be called so; no other name begins with a quote
			name = strconv.Quote(name)
		}
		b.WriteString(name + "=" + value + "\n")
	}
	return b.String()
}

// hashList is a hash of a list of strings that tells ["a b"] from ["a", "b"].
func hashList(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(strconv.Itoa(len(s)) + ":" + s)
	}
	return shortHash(b.String())
}

// pointText spells a point in one way: sorted by name, each value with its kind and its length, so that no value can
// look like the next parameter.
func pointText(ps Params) string {
	var b strings.Builder
	for _, p := range sortedByName(ps) {
		b.WriteString(p.Name + "\x00" + string(rune('0'+p.Value.kind)) + strconv.Itoa(len(p.Value.text)) + ":" + p.Value.text)
	}
	return b.String()
}

// PointKey names a point with a seed within an experiment, whatever the code and the command.
func PointKey(experiment string, ps Params, seed int64) string {
	return shortHash(experiment + "\x00" + strconv.FormatInt(seed, 10) + "\x00" + pointText(ps))
}

// changed lists what differs between a trial and the last one at its point: files of the code ("code: train.py"), and
// fields of the spec ("env").
func changed(now Parts, past Past, files []CodeFile, codes map[string][]CodeFile) []string {
	var out []string
	for name, hash := range now {
		if past.Parts[name] != hash && name != "code" {
			out = append(out, name)
		}
	}
	for name := range past.Parts {
		if _, ok := now[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if now["code"] != past.Code {
		out = append(out, changedFiles(files, codes[past.Code])...)
	}
	return out
}

func changedFiles(now, before []CodeFile) []string {
	if before == nil {
		return []string{"code"}
	}
	old := map[string]string{}
	for _, f := range before {
		if !f.Ignored {
			old[f.Path] = f.Mode + f.SHA256
		}
	}
	var out []string
	for _, f := range now {
		if f.Ignored {
			continue
		}
		if old[f.Path] != f.Mode+f.SHA256 {
			out = append(out, "code: "+f.Path)
		}
		delete(old, f.Path)
	}
	for path := range old {
		out = append(out, "code: "+path)
	}
	slices.Sort(out)
	return out
}
