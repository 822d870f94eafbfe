package plan

import (
	"strconv"
	"strings"
	"time"
)

// shared checks what belongs to no experiment.
func (c *checker) shared() {
	spans := []span{{&c.spec.Settings.LostAfter, 0, []string{"settings", "lost_after"}, ""}}
	if b := c.spec.Settings.Budget; b != nil {
		spans = append(spans, span{b.Wall, 1, []string{"settings", "budget", "wall"}, ""})
	}
	for i := range c.spec.Agents {
		a := &c.spec.Agents[i]
		spans = append(spans,
			span{&a.Timeout, 0, []string{"agents", a.Name, "timeout"}, ""},
			span{&a.Silence, 0, []string{"agents", a.Name, "silence"}, ""})
		c.agent(a)
	}
	c.spans(spans)
	if d := c.spec.Settings.Deadline; d != "" {
		if _, err := ParseDeadline(d, time.Time{}); err != nil {
			c.add([]string{"settings", "deadline"}, `write it like "07:30" or "8h"`, "%q is neither a time of day nor a duration above 0", d)
		}
	}
	for i, n := range c.spec.Settings.Notify {
		path := []string{"settings", "notify", strconv.Itoa(i)}
		c.words(n.Command, append(path, "command")...)
		if n.URL != nil {
			c.secret(*n.URL, append(path, "url")...)
		}
	}
}

// agent checks the names and the texts that an agent's program is given.
func (c *checker) agent(a *Agent) {
	for i, name := range a.Env {
		if strings.HasPrefix(name, "XRUN_") {
			c.add([]string{"agents", a.Name, "env", strconv.Itoa(i)}, "pass it under another name", "names that begin with XRUN_ are reserved")
		}
	}
	for _, name := range sortedKeys(a.Secrets) {
		path := []string{"agents", a.Name, "secrets", name}
		c.reserved(name, "an agent gets no GPU", path...)
		if contains(a.Env, name) {
			c.add(path, "keep one of them", "%s is in env and in secrets", name)
		}
	}
	c.words(a.Command, "agents", a.Name, "command")
	c.words(a.Args, "agents", a.Name, "args")
	c.noNUL(a.Program, "agents", a.Name, "program")
	c.secrets(a.Secrets, "agents", a.Name, "secrets")
}
