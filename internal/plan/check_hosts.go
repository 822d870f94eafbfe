package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hosts checks what an experiment asks of hosts against what they declare.
func (c *checker) hosts(e *Experiment) {
	c.hostNames(e)
	serving, all := c.serving(e)
	if !all || len(serving) == 0 {
		return // one that is not loaded may have everything
	}
	rest := *e
	rest.Data = c.somewhere(e, serving)
	c.unmet(&rest, serving)
}

// hostNames finds hosts that are not loaded: the inventory may be on another machine.
func (c *checker) hostNames(e *Experiment) {
	var names []string
	for _, h := range c.spec.Hosts {
		names = append(names, h.Name)
	}
	unknown := func(name string, path ...string) {
		if contains(names, name) {
			return
		}
		suggestion := meant(name, "hosts", names, "")
		switch {
		case Nearest(name, names) != "":
		case len(c.spec.Hosts) == 1 && c.spec.Hosts[0].implicit():
			suggestion = "none is declared; --inventory gives some"
		default:
			suggestion += "; --inventory gives others"
		}
		c.warn(path, suggestion, "no host called %q is loaded", name)
	}
	for i, name := range e.Needs.Hosts {
		unknown(name, "needs", "hosts", strconv.Itoa(i))
	}
	if e.Sweep != nil {
		e.Sweep.axes(func(a Axis, path []string) {
			if a.Glob != nil && !contains(e.Needs.Hosts, a.Glob.On) {
				unknown(a.Glob.On, append(path, "on")...)
			}
		})
	}
}

// implicit reports whether h is this machine, which serves where no host is declared.
func (h *Host) implicit() bool { return h.Name == "local" && h.Kind == "local" && h.From == "" }

// serving are the hosts that needs.hosts allows; all: every host it names is loaded and could be read.
func (c *checker) serving(e *Experiment) (hosts []*Host, all bool) {
	all = true
	for i := range c.spec.Hosts {
		h := &c.spec.Hosts[i]
		if len(e.Needs.Hosts) == 0 || contains(e.Needs.Hosts, h.Name) {
			hosts = append(hosts, h)
			all = all && h.Kind != ""
		}
	}
	for _, name := range e.Needs.Hosts {
		all = all && slices.ContainsFunc(hosts, func(h *Host) bool { return h.Name == name })
	}
	return hosts, all
}

// somewhere is the data that one of the hosts has; data that none has is a problem of its own.
func (c *checker) somewhere(e *Experiment, hosts []*Host) map[string]string {
	found := map[string]string{}
	for _, name := range sortedKeys(e.Data) {
		if slices.ContainsFunc(hosts, func(h *Host) bool { _, ok := h.Data[name]; return ok }) {
			found[name] = e.Data[name]
			continue
		}
		suggestion := fmt.Sprintf(`hosts: %s: data: %s: "/path"`, cueLabel(hosts[0].Name), cueLabel(name))
		if hosts[0].implicit() {
			suggestion = fmt.Sprintf(`declare a host that has it: hosts: local: {kind: "local", data: %s: "/path"}`, cueLabel(name))
		}
		c.add([]string{"data", name}, suggestion, "no host says where data %s lies", name)
	}
	return found
}

// maxReasons is for how many hosts a message says why they do not do.
const maxReasons = 3

// A lack is a need that a host does not meet.
type lack struct {
	path []string
	why  string
}

// unmet finds needs that no host meets, each by itself or all of them together.
func (c *checker) unmet(e *Experiment, hosts []*Host) {
	var closest *Host
	var least []lack
	var whys []string
	alone := true // no other host comes as close
	for _, h := range hosts {
		ls := lacks(e, h)
		if len(ls) == 0 {
			return
		}
		switch {
		case closest == nil || len(ls) < len(least):
			closest, least, alone = h, ls, true
		case len(ls) == len(least):
			alone = false
		}
		whys = append(whys, h.Name+": "+ls[0].why)
	}
	// The closest host's reasons come first: they are the ones to do something about.
	i := slices.Index(hosts, closest)
	first := whys[i]
	for _, l := range least[1:] {
		first += ", " + l.why
	}
	whys = append([]string{first}, slices.Delete(whys, i, i+1)...)
	text := strings.Join(whys[:min(len(whys), maxReasons)], "; ")
	if more := len(whys) - maxReasons; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	suggestion := "ask for less, or declare a host that has it"
	if closest.implicit() {
		// Nobody declared it: those that serve may stand in an inventory that is on another machine.
		c.warn(least[0].path, "no host is declared; --inventory gives some", "no host that is loaded can run this: %s", text)
		return
	}
	if alone && len(hosts) > 1 {
		suggestion = closest.Name + " comes closest; " + suggestion
	}
	c.add(least[0].path, suggestion, "no host can run this: %s", text)
}

// lacks are the needs of e that h does not meet, each asked for alone.
func lacks(e *Experiment, h *Host) []lack {
	var out []lack
	ask := func(path []string, data map[string]string, n Needs) {
		if why := whyNot(&Experiment{Data: data, Needs: n}, h, nil); why != "" {
			out = append(out, lack{path, why})
		}
	}
	for _, k := range sortedKeys(e.Needs.Labels) {
		ask([]string{"needs", "labels", k}, nil, Needs{Labels: map[string]string{k: e.Needs.Labels[k]}})
	}
	for _, k := range sortedKeys(e.Data) {
		ask([]string{"data", k}, map[string]string{k: e.Data[k]}, Needs{})
	}
	ask([]string{"needs", "gpus"}, nil, Needs{GPUs: e.Needs.GPUs})
	return out
}

// noGPUs finds an experiment that asks for no GPU where every host that it may use has some.
func (c *checker) noGPUs(e *Experiment) {
	if e.Set["needs.gpus"] {
		return
	}
	serving, all := c.serving(e)
	n := 0
	for _, h := range serving {
		if whyNot(e, h, nil) != "" {
			continue
		}
		if h.declaredGPUs() <= 0 {
			return
		}
		n++
	}
	if all && n > 0 {
		c.warn([]string{"needs", "gpus"}, "add needs: gpus: 1, or needs: gpus: 0 if it uses none",
			"the trial sees no GPU, and every host it may run on has some")
	}
}
