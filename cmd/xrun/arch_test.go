package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports maps each package of this module to the packages of this module that it may import. ARCHITECTURE.md draws the
// same arrows: a new one is drawn there in the same commit.
var imports = map[string][]string{
	// Wires everything, and is imported by nobody.
	"cmd/xrun": {
		"internal/plan", "internal/plan/specfile", "internal/engine", "internal/engine/checkpoint", "internal/hosts",
		"internal/ledger", "internal/report", "schema",
	},
	// Runs a plan. What lies beneath it is its own.
	"internal/engine": {"internal/plan", "internal/hosts", "internal/ledger", "internal/engine/metric", "internal/engine/checkpoint"},
	// Bytes and numbers; they know nobody.
	"internal/engine/metric":     {},
	"internal/engine/checkpoint": {},
	"internal/hosts":             {},
	"internal/hosts/hosttest":    {"internal/hosts"},
	"internal/ledger":            {},
	"internal/citest":            {}, // for tests alone
	"internal/noise":             {},
	"internal/plan":              {},
	"schema":                     {},
	// The one that knows CUE.
	"internal/plan/specfile": {"internal/plan", "schema"},
	// Never engine or hosts: a report cannot open a connection.
	"internal/report": {"internal/ledger", "internal/noise", "internal/plan"},
}

// libraries maps each outside library to the packages that may use it.
var libraries = map[string][]string{
	"cuelang.org/go":                {"internal/plan/specfile"},                        // CUE stays behind plain structs
	"github.com/alecthomas/kong":    {"cmd/xrun"},                                      // flags are the command's
	"github.com/go-git/go-git":      {"internal/engine/checkpoint"},                    // git is read in one place
	"github.com/go-git/go-billy":    {"internal/engine/checkpoint"},                    // its file systems
	"github.com/google/go-cmp":      {"internal/hosts/hosttest"},                       // compares what tests want and get
	"github.com/hashicorp/go-hclog": {"cmd/xrun", "internal/engine", "internal/hosts"}, // loggers are handed in
	"golang.org/x/sync":             {"internal/hosts"},                                // workers that are waited for
	"golang.org/x/sys":              {"internal/hosts"},                                // system calls
	"gonum.org/v1/gonum":            {"internal/noise"},                                // statistics
	"modernc.org/sqlite":            {"internal/ledger"},                               // SQL stays in the ledger
}

// TestImportsPointOneWay reads the files itself: the go command caches a test's result by the files that the test opens.
func TestImportsPointOneWay(t *testing.T) {
	root := filepath.Join("..", "..")
	edges, uses := map[string]map[string]bool{}, map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || file != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		from, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		return record(file, filepath.ToSlash(from), edges, uses)
	})
	if err != nil {
		t.Fatal(err)
	}
	for from, tos := range edges {
		allowed, known := imports[from]
		if !known {
			t.Errorf("package %s is new: say in this file and in ARCHITECTURE.md what it may import", from)
		}
		for to := range tos {
			if !slices.Contains(allowed, to) {
				t.Errorf("%s must not import %s", from, to)
			}
		}
		for _, to := range allowed {
			if !tos[to] {
				t.Errorf("%s may import %s but does not: take it off the list", from, to)
			}
		}
	}
	for from := range imports {
		if edges[from] == nil {
			t.Errorf("package %s is on the list but does not exist", from)
		}
	}
	checkLibraries(t, uses)
}

// record notes the imports of one file.
func record(file, from string, edges, uses map[string]map[string]bool) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
	if err != nil {
		return err
	}
	if edges[from] == nil {
		edges[from] = map[string]bool{}
	}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if to, ours := strings.CutPrefix(name, "github.com/xrun-dev/xrun/"); ours {
			edges[from][to] = true
		} else if strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
			if uses[name] == nil {
				uses[name] = map[string]bool{}
			}
			uses[name][from] = true
		}
	}
	return nil
}

func checkLibraries(t *testing.T, uses map[string]map[string]bool) {
	t.Helper()
	used := map[string]map[string]bool{}
	for name, froms := range uses {
		lib := ""
		for l := range libraries {
			if name == l || strings.HasPrefix(name, l+"/") {
				lib = l
			}
		}
		if lib == "" {
			t.Errorf("%s is new: say in this file which package may use it, and why", name)
			continue
		}
		for from := range froms {
			if !slices.Contains(libraries[lib], from) {
				t.Errorf("%s must not import %s: it belongs to %s", from, lib, strings.Join(libraries[lib], ", "))
			}
			if used[lib] == nil {
				used[lib] = map[string]bool{}
			}
			used[lib][from] = true
		}
	}
	for lib, homes := range libraries {
		for _, home := range homes {
			if !used[lib][home] {
				t.Errorf("%s may use %s but does not: take it off the list", home, lib)
			}
		}
	}
}
