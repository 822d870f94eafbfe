package specfile_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// unpack writes the files of an archive below a new directory, which is the root of a repository.
func unpack(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == "want" {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tree is a directory with the files of a txtar text.
func tree(t *testing.T, text string) string {
	t.Helper()
	return unpack(t, txtar.Parse([]byte(text)))
}

// optionsOf reads lines like "paths: a b" in the comment of an archive.
func optionsOf(dir, comment string) specfile.Options {
	o := specfile.Options{Dir: dir}
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "paths":
			o.Paths = strings.Fields(value)
		case "tags":
			o.Tags = strings.Fields(value)
		case "inventory":
			o.Inventory = value
		}
	}
	return o
}

// TestMessages loads every package in testdata/bad and compares what a user reads.
func TestMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := unpack(t, a)
			got := messages(t, optionsOf(dir, string(a.Comment)))
			got = strings.ReplaceAll(got, dir, "$DIR")
			want := ""
			for i, f := range a.Files {
				if f.Name != "want" {
					continue
				}
				want = string(f.Data)
				a.Files[i].Data = []byte(got)
			}
			if *update {
				if want == "" {
					a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("messages differ (-want +got), -update rewrites:\n%s", diff)
			}
		})
	}
}

// messages is what a user reads about the problems of a spec.
func messages(t *testing.T, o specfile.Options) string {
	t.Helper()
	_, err := specfile.Load(t.Context(), o)
	problems, ok := errors.AsType[specfile.Problems](err)
	if !ok {
		t.Fatalf("Load: %v, want Problems", err)
	}
	var b bytes.Buffer
	if err := specfile.Render(&b, problems, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
