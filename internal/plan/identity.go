package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// idLen is the number of base32 characters of an id: 60 bits. Among a million trials two share an id with a chance of
// one in two million.
const idLen = 12

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// shortHash is the first idLen characters of the hash of s.
func shortHash(s string) string { return string(appendHash(nil, []byte(s))) }

func appendHash(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	const bytes = (idLen*5 + 7) / 8
	var text [(bytes*8 + 4) / 5]byte
	idEncoding.Encode(text[:], sum[:bytes])
	return append(dst, text[:idLen]...)
}

// hashJSON is shortHash of the JSON of v, which for the types of a Spec is canonical.
func hashJSON(v any) string {
	return string(appendHash(nil, mustMarshal(v)))
}

func mustMarshal(v any) []byte {
	b, err := marshal(v)
	if err != nil {
		panic("plan: " + err.Error()) // the types of a Spec always encode
	}
	return b
}

// identity makes the parts and the id of the trials of one experiment. What is the same for all of them is hashed once.
type identity struct {
	spec    *Experiment
	command *Command
	shared  Parts
	base    []byte // how the text of an id begins
	same    []sameInput
	files   map[string]map[string]string // by parameter and value: what stands for the content of a file that a host listed
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
	id := &identity{spec: e, command: ParseCommand(e.Command, e.Env), shared: shared}
	for _, name := range sortedKeys(e.Inputs) {
		part := "inputs: " + name
		if in := e.Inputs[name]; in.Trial == "same" && len(ups[in.Experiment].trials) > 0 {
			id.same = append(id.same, sameInput{part, in, ups.index(in)})
		} else {
			shared[part] = ups.hash(in, ups[in.Experiment].ids())
		}
	}
	id.base = append([]byte("trial 1\n"), shared.join()...)
	return id
}

// A hasher makes ids of many trials in the same buffers.
type hasher struct {
	id         *identity
	text       []byte // of the id
	list, item []byte
}

// hash fills in what follows from the Params and Seed of a trial. sorted are the parameters by name.
func (h *hasher) hash(t *Trial, sorted Params) {
	t.identity, t.Code = h.id, h.id.shared["code"]
	h.text = append(h.text[:0], h.id.base...)
	h.own(t, sorted, func(name string, value []byte) {
		h.text = append(append(h.text, name...), '=')
		h.text = append(append(h.text, value...), '\n')
	})
	h.text = appendHash(h.text[:0], h.text)
	t.ID = string(h.text)
}

// own yields the parts in which one trial may differ from the others of its experiment, sorted by name.
func (h *hasher) own(t *Trial, sorted Params, yield func(name string, value []byte)) {
	b, value := Binding{Params: t.Params, Seed: t.Seed}, [idLen]byte{}
	add := func(item []byte) { h.list = appendItem(h.list, item) }
	h.list = h.list[:0]
	h.id.command.eachArg(&b, sorted, true, h.item, add)
	yield("command", appendHash(value[:0], h.list))
	if len(h.id.command.env) > 0 {
		h.list = h.list[:0]
		h.id.command.eachEnv(&b, true, h.item, add)
		yield("env", appendHash(value[:0], h.list))
	}
	for _, p := range sorted {
		if stamp, ok := h.id.files[p.Name][p.Value.Text()]; ok {
			yield("file: "+p.Name, []byte(stamp))
		}
	}
	for _, in := range h.id.same {
		yield(in.part, []byte(in.hash(t.Params)))
	}
	h.list = appendPoint(h.list[:0], sorted)
	yield("params", appendHash(value[:0], h.list))
	yield("seed", strconv.AppendInt(h.list[:0], t.Seed, 10))
}

// parts are those of a trial that this identity made.
func (id *identity) parts(t *Trial) Parts {
	out := maps.Clone(id.shared)
	h := hasher{id: id}
	h.own(t, sortedByName(t.Params), func(name string, value []byte) { out[name] = string(value) })
	return out
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
	var b []byte
	for _, s := range list {
		b = appendItem(b, []byte(s))
	}
	return string(appendHash(nil, b))
}

func appendItem(dst, item []byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(item)), 10), ':')
	return append(dst, item...)
}

// pointText spells a point in one way: sorted by name, each value with its kind and its length, so that no value can
// look like the next parameter.
func pointText(ps Params) string { return string(appendPoint(nil, sortedByName(ps))) }

func appendPoint(dst []byte, sorted Params) []byte {
	for _, p := range sorted {
		dst = append(append(dst, p.Name...), 0, '0'+byte(p.Value.kind))
		dst = append(strconv.AppendInt(dst, int64(len(p.Value.text)), 10), ':')
		dst = append(dst, p.Value.text...)
	}
	return dst
}

// PointKey names a point with a seed within an experiment, whatever the code and the command.
func PointKey(experiment string, ps Params, seed int64) string {
	return shortHash(experiment + "\x00" + strconv.FormatInt(seed, 10) + "\x00" + pointText(ps))
}
