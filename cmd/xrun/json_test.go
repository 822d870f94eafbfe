package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonCmd compares a value within a JSON document: json FILE PATH VALUE. The path is dotted, list elements by index; a
// last component of @len is the length. VALUE is JSON. FILE may be stdout or stderr.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json file path value")
	}
	var doc any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	ts.Check(d.Decode(&doc))
	if d.More() {
		ts.Fatalf("%s is more than one JSON document", args[0])
	}
	got, ok := lookup(doc, args[1])
	if !ok {
		ts.Fatalf("%s has no %s", args[0], args[1])
	}
	b, err := json.Marshal(got)
	ts.Check(err)
	if equal := string(b) == args[2]; equal == neg {
		ts.Fatalf("%s: %s is %s", args[0], args[1], b)
	}
}

func lookup(v any, path string) (any, bool) {
	if path == "" || path == "." {
		return v, true
	}
	name, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		w, ok := v[name]
		if !ok {
			return nil, false
		}
		return lookup(w, rest)
	case []any:
		if name == "@len" {
			return len(v), true
		}
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return lookup(v[i], rest)
	}
	return nil, false
}
