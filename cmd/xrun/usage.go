package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// otherCommands are words of other tools, and what says the same here.
var otherCommands = map[string]string{
	"list": "runs", "ls": "runs", "history": "runs", "ps": "status", "log": "logs", "tail": "logs -f",
	"validate": "vet", "check": "vet", "lint": "vet", "new": "init", "start": "run", "launch": "run", "exec": "run", "sweep": "run",
	"kill": "stop", "cancel": "stop", "clean": "gc", "prune": "gc", "delete": "gc", "rm": "gc",
	"diff": "compare", "results": "report", "continue": "resume", "pull": "fetch",
}

// otherFlags are flags of other tools.
var otherFlags = map[string]string{
	"--dry-run": "`xrun plan` shows what would run, and runs nothing", "-n": "`xrun plan` shows what would run; --first N runs the first N trials",
	"--resume": "`xrun resume` goes on with an interrupted run", "--force": "--fresh reuses nothing",
	"-j": "--max-parallel N", "--jobs": "--max-parallel N", "--parallel": "--max-parallel N", "--workers": "--max-parallel N",
	"--name": "--only GLOB chooses experiments by name", "--experiment": "--only GLOB chooses experiments by name",
	"--filter": "--only GLOB chooses experiments by name", "--set": "-t key=value sets a CUE tag",
	"--param": "-t key=value sets a CUE tag; parameters are said in the spec", "--json": "-o json", "--verbose": "--log-level info", "-v": "--log-level info",
	"--timeout": "a trial's limit is said in the spec, limits: trial; --deadline is that of the run", "--limit": "--first N",
	"--seed": "seeds are said in the spec: seeds: 3", "--seeds": "seeds are said in the spec: seeds: 3", "--gpus": "GPUs are said in the spec: needs: gpus: 1",
}

var (
	unknownFlag = regexp.MustCompile(`^unknown flag (-[^\s,=]+)`)
	unknownWord = regexp.MustCompile(`^unexpected argument (\S+?)(,|$)`)
	// Of one letter any other is one letter away.
	shortGuess = regexp.MustCompile(`^(unknown flag -[^-]), did you mean .*$`)
)

// parseError is what the parser found wrong, with where to look: the command's own help, or the word of this tool.
func parseError(err error) error {
	message := shortGuess.ReplaceAllString(err.Error(), "$1")
	hint, command := "`xrun --help` lists commands and flags", ""
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		if node := p.Context.Selected(); node != nil {
			command = node.Name
			hint = "`xrun " + command + " --help` lists its arguments and flags"
		}
	}
	if m := unknownFlag.FindStringSubmatch(message); m != nil && otherFlags[m[1]] != "" && !strings.Contains(message, "did you mean") {
		hint = otherFlags[m[1]]
	}
	if m := unknownWord.FindStringSubmatch(message); m != nil && command == "" {
		message = "there is no command " + strings.TrimPrefix(message, "unexpected argument ")
		if other := otherCommands[m[1]]; other != "" {
			message, hint = "there is no command "+m[1], "it is called `xrun "+other+"` here"
		}
	}
	return &cliError{code: exitUsage, kind: "usage", msg: message, hint: hint}
}

// needsTrial is the error of a command that was given a run or an experiment.
func needsTrial(command, target string) error {
	run, _, _ := strings.Cut(target, "/")
	return &cliError{
		code: exitUsage, kind: "usage", msg: fmt.Sprintf("%s needs RUN/EXPERIMENT/TRIAL, not %q", command, target),
		hint: "`xrun show " + run + "` lists the trials",
	}
}
