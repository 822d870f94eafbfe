package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Unneeded lists the files of the store that none of these trees needs: manifests of others, and bytes that no manifest
// that is left names. A tree that cannot be read is an error: what it needs is not known.
func (s Store) Unneeded(trees []string) ([]string, error) {
	needed := map[string]bool{}
	for _, id := range trees {
		if needed[s.manifestFile(id)] {
			continue
		}
		needed[s.manifestFile(id)] = true
		m, err := s.LoadManifest(id)
		if err != nil {
			return nil, err
		}
		for _, f := range m.Files {
			needed[filepath.Join(s.Blobs(), f.SHA256)] = true
		}
	}
	var out []string
	for _, dir := range []string{filepath.Dir(s.manifestFile("x")), s.Blobs()} {
		names, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range names {
			if file := filepath.Join(dir, e.Name()); !needed[file] && !strings.HasPrefix(e.Name(), ".") {
				out = append(out, file)
			}
		}
	}
	return out, nil
}
