package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xrun-dev/xrun/internal/ledger"
)

//go:embed completion
var completionScripts embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is the example.
func (completionCmd) Help() string {
	return "Example:\n  xrun completion bash >~/.local/share/bash-completion/completions/xrun\n\nOr, for this shell only: source <(xrun completion bash); with fish: xrun completion fish | source"
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	text, err := completionScripts.ReadFile("completion/" + c.Shell)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}

// completeCmd is what the scripts ask: what could the last of these words be? It is quick, changes nothing and never
// fails: nobody wants an error at the prompt.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates, one a line, each with what it means.
func (c *completeCmd) Run(ctx context.Context, a *app) error {
	defer func() { _ = recover() }()
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	k, err := newParser(ctx, a, &cli{}, io.Discard, io.Discard)
	if err != nil {
		return nil
	}
	t := newTyped(k.Model.Node, words)
	for _, s := range t.suggestions(func() []suggestion { return a.runSuggestions(ctx, t) }) {
		if strings.HasPrefix(s.word, t.current) || s.word[0] == ':' {
			fmt.Fprintf(a.stdout, "%s%s\t%s\n", t.before, s.word, s.about)
		}
	}
	return nil
}

// A suggestion is a word that could be typed. The words :files and :dirs leave it to the shell.
type suggestion struct{ word, about string }

// typed is what stands on the command line.
type typed struct {
	node     *kong.Node
	flag     *kong.Flag // whose value is being typed
	position int        // of the argument being typed
	current  string     // the part of the last word that is to be completed
	before   string     // the part of the word before it: "--color="
	flags    map[string]string
}

func newTyped(root *kong.Node, words []string) *typed {
	words = joined(words)
	t := &typed{node: root, flags: map[string]string{}}
	if len(words) == 0 {
		return t
	}
	for _, w := range words[:len(words)-1] {
		t.past(w)
	}
	t.current = words[len(words)-1]
	if t.current == "=" { // bash: "--color=" and nothing after it
		t.current = ""
	}
	if name, value, ok := strings.Cut(t.current, "="); ok && t.flag == nil && strings.HasPrefix(name, "--") {
		if f := t.find(name); f != nil {
			t.flag, t.before, t.current = f, name+"=", value
		}
	}
	return t
}

// joined drops the = that bash makes a word of its own: "--color", "=", "al" are "--color", "al".
func joined(words []string) []string {
	var out []string
	for i, w := range words {
		if w == "=" && i < len(words)-1 {
			continue
		}
		out = append(out, w)
	}
	return out
}

// past takes a word that is complete.
func (t *typed) past(w string) {
	if t.flag != nil {
		t.flags[t.flag.Name], t.flag = w, nil
		return
	}
	if strings.HasPrefix(w, "-") && w != "-" {
		name, value, ok := strings.Cut(w, "=")
		if f := t.find(name); f != nil && !f.IsBool() && ok {
			t.flags[f.Name] = value
		} else if f != nil && !f.IsBool() {
			t.flag = f
		}
		return
	}
	for _, child := range t.node.Children {
		if child.Name == w {
			t.node = child
			return
		}
	}
	t.position++
}

// find is the flag of a name with its dashes, of the command or global.
func (t *typed) find(name string) *kong.Flag {
	for _, f := range t.visible(true) {
		if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
			return f
		}
	}
	return nil
}

func (t *typed) visible(hidden bool) []*kong.Flag {
	var out []*kong.Flag
	for n := t.node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if hidden || !f.Hidden {
				out = append(out, f)
			}
		}
	}
	return out
}

// suggestions are all that could stand in the place of the last word; runs are asked for where a run could.
func (t *typed) suggestions(runs func() []suggestion) []suggestion {
	switch {
	case t.flag != nil:
		return t.values(t.flag.Value, t.flag.PlaceHolder, runs)
	case strings.HasPrefix(t.current, "-"):
		var out []suggestion
		for _, f := range t.visible(false) {
			out = append(out, suggestion{"--" + f.Name, f.Help})
		}
		return out
	case t.node.Type == kong.ApplicationNode:
		return t.commands()
	case len(t.node.Positional) == 0:
		return nil
	}
	args := t.node.Positional
	arg := args[min(t.position, len(args)-1)]
	if t.position >= len(args) && !arg.IsCumulative() {
		return nil
	}
	if t.node.Name == "help" {
		out := t.commands()
		for _, p := range topics() {
			out = append(out, suggestion{p.name, p.about})
		}
		return out
	}
	return t.values(arg, arg.Name, runs)
}

// commands are those that are built.
func (t *typed) commands() []suggestion {
	root := t.node
	for root.Parent != nil {
		root = root.Parent
	}
	var out []suggestion
	for _, child := range root.Children {
		if !child.Hidden {
			out = append(out, suggestion{child.Name, child.Help})
		}
	}
	return out
}

// values are what a flag or an argument can be, by its enumeration or by what stands for it in the help.
func (t *typed) values(v *kong.Value, what string, runs func() []suggestion) []suggestion {
	if v.Enum != "" {
		var out []suggestion
		for _, word := range v.EnumSlice() {
			if word != "" {
				out = append(out, suggestion{word, ""})
			}
		}
		return out
	}
	switch what = strings.ToLower(what); {
	case what == "dir":
		return []suggestion{{":dirs", ""}}
	case strings.Contains(what, "path"), what == "file":
		return []suggestion{{":files", ""}}
	case strings.HasPrefix(what, "run|file"):
		return append(runs(), suggestion{":files", ""})
	case strings.HasPrefix(what, "run"):
		return runs()
	}
	return nil
}

// runSuggestions are the runs of the state directory that the command line means, and the experiments of the one whose
// name has been typed.
func (a *app) runSuggestions(ctx context.Context, t *typed) []suggestion {
	if dir := t.flags["dir"]; dir != "" {
		a.Dir = a.path(dir)
	}
	if state := t.flags["state"]; state != "" {
		a.State = a.path(state)
	}
	out := []suggestion{{"last", "the newest run"}}
	l, err := ledger.OpenReader(ctx, a.findState())
	if err != nil {
		return nil // no run yet
	}
	defer l.Close()
	runs, err := l.Runs(ctx)
	if err != nil {
		return nil
	}
	run, _, inside := strings.Cut(t.current, "/")
	if !inside {
		for _, r := range runs {
			out = append(out, suggestion{r.ID, strings.TrimSpace(r.Started.Format("2006-01-02 15:04") + " " + r.Outcome)})
		}
		return out
	}
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return strings.HasPrefix(r.ID, run) || run == "last" })
	if i < 0 {
		return nil
	}
	out = nil
	for _, e := range runs[i].Experiments {
		out = append(out, suggestion{run + "/" + e, "an experiment"})
	}
	return out
}
