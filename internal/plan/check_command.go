package plan

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// programs finds commands that hide a failure, or end before their work does.
func (c *checker) programs(e *Experiment) {
	for _, cmd := range e.commands() {
		c.nameless(cmd.argv, cmd.path...)
		c.shellWords(e, cmd.argv, cmd.path...)
	}
	c.shellEnv(e, e.Env, "env")
	c.containers(e.Command, "command")
	c.detached(e.Command, "command")
	c.scripts(e.Command, "command")
	if e.Evaluate != nil {
		c.shellEnv(e, e.Evaluate.Env, "evaluate", "env")
		c.containers(e.Evaluate.Command, "evaluate", "command")
		c.detached(e.Evaluate.Command, "evaluate", "command")
		c.scripts(e.Evaluate.Command, "evaluate", "command")
	}
	if e.Loop != nil && e.Loop.Tests != nil {
		c.scripts(e.Loop.Tests.Command, "loop", "tests", "command")
	}
	if e.Setup != nil {
		c.scripts(e.Setup.Command, "setup", "command")
	}
}

// nameless finds commands whose first element cannot be a program.
func (c *checker) nameless(argv []string, where ...string) {
	if len(argv) == 0 {
		return // the schema has said it
	}
	at := append(slices.Clone(where), "0")
	switch _, params := parseTemplate(argv[0]).params(); {
	case strings.TrimSpace(argv[0]) == "":
		c.add(at, "the first element of a command is its program", "this names no program")
	case params:
		c.add(at, "name the program in front of it", "%s stands for the arguments of a program, and none comes before it", argv[0])
	}
}

// prefixes are the wrappers that change nothing about how long a program lives or what it is.
var prefixes = []string{"sudo", "env", "nice", "nohup", "time", "ionice"}

// behindPrefixes is the index of what argv runs, behind sudo, env and their like; -1 where that is not certain.
func behindPrefixes(argv []string) int {
	for at := 0; at < len(argv); {
		name := path.Base(argv[at])
		if !contains(prefixes, name) {
			return at
		}
		next, _, ok := wrappers[name].behind(argv, at+1, name)
		if !ok {
			return -1
		}
		at = next
	}
	return -1
}

// containers finds a container that is started by hand.
func (c *checker) containers(argv []string, where ...string) {
	i := behindPrefixes(argv)
	if i < 0 {
		return
	}
	switch name := path.Base(argv[i]); name {
	case "docker", "podman", "nerdctl", "apptainer", "singularity":
		c.warn(append(slices.Clone(where), strconv.Itoa(i)), `say container: image: "…", and in command what runs in it`,
			"a container that %s starts does not get the trial's variables, and may outlive it", name)
	}
}

// detached finds programs that return while what they started goes on.
func (c *checker) detached(argv []string, where ...string) {
	i := behindPrefixes(argv)
	if i < 0 {
		return
	}
	name := path.Base(argv[i])
	waits := name != "screen" && name != "tmux" && name != "setsid" && name != "daemonize"
	if name == "setsid" {
		waits = len(argv) > i+1 && (argv[i+1] == "--wait" || strings.HasPrefix(argv[i+1], "-") && !strings.HasPrefix(argv[i+1], "--") && strings.Contains(argv[i+1], "w"))
	}
	if !waits {
		c.warn(append(slices.Clone(where), strconv.Itoa(i)), "leave it out: xrun itself keeps a trial running when you log out",
			"%s returns at once: the trial would end before its work does", name)
	}
}

// scripts looks into `sh -c SCRIPT` for pipes that hide a failure, and for work in the background.
func (c *checker) scripts(argv []string, where ...string) {
	i, pipefail := scriptIn(argv)
	if i < 0 {
		return
	}
	at := append(slices.Clone(where), strconv.Itoa(i))
	s := scanShell(argv[i])
	if s.background {
		c.warn(at, "leave the & out: xrun itself keeps a trial running when you log out", "the script ends with &: the trial would end before its work does")
	}
	// Whoever knows of the one or the other has thought about it.
	if pipefail || strings.Contains(argv[i], "pipefail") || strings.Contains(strings.ToUpper(argv[i]), "PIPESTATUS") {
		return
	}
	for _, pipe := range s.pipes {
		hidden := slices.DeleteFunc(slices.Clone(pipe[:len(pipe)-1]), func(name string) bool { return contains(harmless, path.Base(name)) })
		if len(hidden) == 0 {
			continue
		}
		last, suggestion := pipe[len(pipe)-1], `use ["bash", "-o", "pipefail", "-c", …]`
		if path.Base(last) == "tee" {
			suggestion = "leave out tee, as xrun keeps the log of every trial, or " + suggestion
		}
		c.warn(at, suggestion, "a pipe has the exit code of its last command: if %s fails, %s hides it", strings.Join(hidden[:min(3, len(hidden))], " or "), last)
		return
	}
}

// harmless are programs in front of a pipe whose failure nobody needs to know of.
var harmless = []string{"echo", "printf", "cat", "env", "yes", "seq", "ls", "true", ":"}

// scriptIn is the index of the script in argv, if it runs a shell with -c, and whether the shell is told pipefail.
func scriptIn(argv []string) (index int, pipefail bool) {
	for i, arg := range argv {
		if !shells[path.Base(arg)] {
			continue
		}
		given := false
		for i++; i < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
			if strings.HasPrefix(argv[i], "--") {
				continue
			}
			given = given || strings.Contains(argv[i], "c")
			if strings.Contains(argv[i], "o") && i+1 < len(argv) {
				i++
				pipefail = pipefail || argv[i] == "pipefail"
			}
		}
		if given && i < len(argv) {
			return i, pipefail
		}
		return -1, false
	}
	return -1, false
}
