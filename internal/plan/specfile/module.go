package specfile

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/load"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/schema"
)

const (
	languageVersion = "v0.17.0"
	// oldestMinor: v0.14 is the first version of the language that the schema can be read in.
	oldestMinor   = 14
	schemaVersion = "v0.1.0"
	// schemaDir is the directory of the schema below its module.
	schemaDir = "schema"
)

// vendorDir is where a copy of the schema lies below a module's root.
var vendorDir = filepath.Join("cue.mod", "pkg", filepath.FromSlash(schema.Package))

// A cueModule says how the packages below one root find the schema: always the one in this binary, whatever the
// repository holds.
type cueModule struct {
	root    string
	path    string // of the module, without its version
	overlay map[string]load.Source
	// virtual is where the registry says that the schema's module lies; "" where it is not a dependency.
	virtual string
	// problems and warnings of the module itself; Files are absolute.
	problems, warnings []plan.Problem
}

// findModule finds the module of dir. Without a cue.mod there is an imaginary one, at fallback if that is above dir.
func findModule(dir, fallback string) *cueModule {
	root := upwards(dir, "cue.mod")
	if root == "" {
		root = dir
		if git := upwards(dir, ".git"); git != "" {
			root = git
		} else if within(fallback, dir) {
			root = fallback
		}
	}
	m := &cueModule{root: root, overlay: map[string]load.Source{}}
	if info, err := os.Stat(filepath.Join(root, "cue.mod")); err == nil && !info.IsDir() {
		m.problems = append(m.problems, plan.Problem{File: filepath.Join(root, "cue.mod"), Message: "cue.mod is a directory that holds module.cue, not a file"})
		return m
	}
	name := filepath.Join(root, "cue.mod", "module.cue")
	text, err := readText(name)
	if _, there := os.Lstat(name); err != nil && there == nil {
		m.problems = append(m.problems, plan.Problem{File: name, Message: err.Error()})
		return m
	}
	if err != nil {
		m.put(fmt.Sprintf("module: \"xrun.local@v0\"\nlanguage: version: %q\n", languageVersion), "cue.mod", "module.cue")
		m.put(schema.Source, vendorDir, "schema.cue")
		m.foreign()
		return m
	}
	// A module file that cannot be read is CUE's to complain about.
	file, err := modfile.Parse(text, name)
	if err == nil {
		m.path, _, _ = strings.Cut(file.Module, "@")
	}
	if err == nil && file.Language != nil && tooOld(file.Language.Version) {
		m.tooOld(name, string(text), file.Language.Version)
	}
	switch {
	case err == nil && file.Module == schema.Module:
		m.put(schema.Source, schemaDir, "schema.cue")
	case err == nil && file.Deps[schema.Module] != nil:
		if _, err := os.Lstat(filepath.Join(root, vendorDir)); err == nil {
			hint := "remove one of them"
			before, _, _ := strings.Cut(string(text), schema.Module)
			m.problems = append(m.problems, plan.Problem{
				File: name, Line: 1 + strings.Count(before, "\n"), Col: len(before) - strings.LastIndex(before, "\n"), Path: "deps", Suggestion: &hint,
				Message: "the schema is both a dependency here and a copy in " + filepath.ToSlash(vendorDir),
			})
		}
		m.virtual = m.virtualRoot()
		m.overlay[filepath.Join(m.virtual, "cue.mod", "module.cue")] = load.FromString(moduleText)
		m.overlay[filepath.Join(m.virtual, schemaDir, "schema.cue")] = load.FromString(schema.Source)
	default:
		m.put(schema.Source, vendorDir, "schema.cue")
		m.foreign()
		m.stale()
	}
	return m
}

// stale warns of a copy of the schema that is not ours: xrun goes by its own, but cue and an editor by that one.
func (m *cueModule) stale() {
	name := filepath.Join(m.root, vendorDir, "schema.cue")
	if _, err := os.Lstat(name); err != nil {
		return
	}
	text, err := readText(name)
	if err == nil && strings.ReplaceAll(string(text), "\r\n", "\n") == schema.Source {
		return
	}
	hint := "`xrun schema --vendor` brings it up to date"
	m.warnings = append(m.warnings, plan.Problem{
		File: name, Line: 1, Col: 1, Path: "schema", Suggestion: &hint,
		Message: "this copy of the schema is not that of this version of xrun: cue and your editor see another language than xrun does",
	})
}

// tooOld reports whether the schema cannot be read in this version of the language. CUE would complain about every line of it.
func tooOld(version string) bool {
	var minor int
	_, err := fmt.Sscanf(version, "v0.%d", &minor)
	return err == nil && minor < oldestMinor
}

func (m *cueModule) tooOld(name, text, version string) {
	at := max(0, strings.Index(text, `"`+version))
	hint := fmt.Sprintf("raise it: language: version: %q", languageVersion)
	m.problems = append(m.problems, plan.Problem{
		File: name, Line: 1 + strings.Count(text[:at], "\n"), Col: at - strings.LastIndex(text[:at], "\n"), Path: "language.version", Suggestion: &hint,
		Message: fmt.Sprintf("the schema needs version v0.%d.0 of the language, this module asks for %s", oldestMinor, version),
	})
}

func (m *cueModule) put(text string, elem ...string) {
	m.overlay[filepath.Join(append([]string{m.root}, elem...)...)] = load.FromString(text)
}

// foreign refuses files beside a copy of the schema: CUE would unify them with ours.
func (m *cueModule) foreign() {
	for _, kind := range []string{"pkg", "gen", "usr"} {
		dir := filepath.Join(m.root, "cue.mod", kind, filepath.FromSlash(schema.Package))
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".cue") || kind == "pkg" && e.Name() == "schema.cue" {
				continue
			}
			hint := "remove it; the schema is one file, schema.cue, which `xrun schema --vendor` writes"
			m.problems = append(m.problems, plan.Problem{
				File: filepath.Join(dir, e.Name()), Line: 1, Col: 1, Suggestion: &hint,
				Message: "this file is not part of the schema and would change it",
			})
		}
	}
}

// virtualRoot is the directory, which must not exist, at which the registry says that the schema's module lies.
func (m *cueModule) virtualRoot() string {
	for i := 0; ; i++ {
		dir := filepath.Join(m.root, fmt.Sprintf(".xrun-schema-%d", i))
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return dir
		}
	}
}

// ours reports whether a position's file is one that we put there, not the user.
func (m *cueModule) ours(file string) bool {
	_, ok := m.overlay[file]
	return ok || strings.HasPrefix(filepath.Base(file), checkFile)
}

var moduleText = fmt.Sprintf("module: %q\nlanguage: version: %q\nsource: kind: \"git\"\n", schema.Module, languageVersion)

// registry answers for the module of the schema, in every version, and for nothing else: loading never needs a network.
// The root is where the overlay has the module's files.
type registry struct{ root string }

func (r registry) ModFile(_ context.Context, mv module.Version) (*modfile.File, error) {
	if mv.Path() != schema.Module {
		return nil, offline(mv.String())
	}
	return modfile.Parse([]byte(moduleText), "module.cue")
}

func (r registry) Fetch(_ context.Context, mv module.Version) (module.SourceLoc, error) {
	if mv.Path() != schema.Module {
		return module.SourceLoc{}, offline(mv.String())
	}
	files, err := moduleFiles()
	// The loader looks here for what there is, and reads it through the overlay at the root.
	return module.SourceLoc{FS: rootedFS{files, r.root}, Dir: "."}, err
}

// moduleFiles are the files of the schema's module. A zip file is a file system that needs no disk.
func moduleFiles() (fs.FS, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"cue.mod/module.cue": moduleText, schemaDir + "/schema.cue": schema.Source} {
		f, err := w.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(f, text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

func (r registry) ModuleVersions(_ context.Context, path string) ([]string, error) {
	if strings.HasPrefix(schema.Module, path) {
		return []string{schemaVersion}, nil
	}
	return nil, nil
}

func offline(what string) error {
	return fmt.Errorf("module %s: %w: xrun loads without a network; copy the package below cue.mod/pkg", what, modregistry.ErrNotFound)
}

// rootedFS has the method by which the loader learns where a file system lies on disk.
type rootedFS struct {
	fs.FS
	root string
}

func (f rootedFS) OSRoot() string { return f.root }
