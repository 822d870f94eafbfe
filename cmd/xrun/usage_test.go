package main

import (
	"io"
	"strings"
	"testing"
)

// A hint that names a command which does not exist sends the user from one error to the next.
func TestWordsOfOtherToolsLeadToCommands(t *testing.T) {
	k, err := newParser(t.Context(), &app{}, &cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, n := range k.Model.Children {
		commands[n.Name] = true
	}
	for word, here := range otherCommands {
		if name, _, _ := strings.Cut(here, " "); !commands[name] || commands[word] {
			t.Errorf("%s is %s here", word, here)
		}
	}
	flags, ofRun := map[string]bool{}, map[string]bool{}
	for _, n := range k.Model.Children {
		for _, group := range n.AllFlags(false) {
			for _, f := range group {
				flags["--"+f.Name] = true
				ofRun["--"+f.Name] = ofRun["--"+f.Name] || n.Name == "run"
				if f.Short != 0 {
					flags["-"+string(f.Short)] = true
					ofRun["-"+string(f.Short)] = ofRun["-"+string(f.Short)] || n.Name == "run"
				}
			}
		}
	}
	for word, hint := range otherFlags {
		// Another command may have it: `xrun gc --dry-run`.
		if ofRun[word] {
			t.Errorf("%s is a flag of run", word)
		}
		for w := range strings.FieldsSeq(hint) {
			if w = strings.TrimRight(w, ",;"); strings.HasPrefix(w, "-") && !flags[w] {
				t.Errorf("the hint for %s names %s, which is no flag", word, w)
			}
		}
	}
}
