package checkpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const manifestVersion = 1

// A savedManifest is the form on disk. Names that are not UTF-8 stand there as bytes: JSON would change them.
type savedManifest struct {
	Version  int         `json:"version"`
	Manifest Manifest    `json:"manifest"`
	Files    []savedFile `json:"files"`
}

type savedFile struct {
	Path    string `json:"path,omitempty"`
	RawPath []byte `json:"raw_path,omitempty"`
	Mode    string `json:"mode"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
	Ignored bool   `json:"ignored,omitempty"`
}

// SaveManifest keeps m under <dir>/manifests/<TreeID>.json, for a resume.
func (s Store) SaveManifest(m *Manifest) error {
	saved := savedManifest{Version: manifestVersion, Manifest: *m, Files: make([]savedFile, 0, len(m.Files))}
	saved.Manifest.Files = nil
	for _, f := range m.Files {
		sf := savedFile{Path: f.Path, Mode: f.Mode, SHA256: f.SHA256, Size: f.Size, Ignored: f.Ignored}
		if !utf8.ValidString(f.Path) {
			sf.Path, sf.RawPath = "", []byte(f.Path)
		}
		saved.Files = append(saved.Files, sf)
	}
	b, err := json.MarshalIndent(saved, "", "\t")
	if err != nil {
		return err
	}
	file := s.manifestFile(m.TreeID)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeFile(file, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// LoadManifest returns what SaveManifest kept. A manifest whose files do not give its TreeID is an error.
func (s Store) LoadManifest(treeID string) (*Manifest, error) {
	if strings.Trim(treeID, "abcdefghijklmnopqrstuvwxyz234567") != "" || len(treeID) != idLength {
		return nil, fmt.Errorf("%q is not the id of a tree", treeID)
	}
	file := s.manifestFile(treeID)
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var saved savedManifest
	if err := json.Unmarshal(b, &saved); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if saved.Version != manifestVersion {
		return nil, fmt.Errorf("%s: version %d, this xrun reads %d", file, saved.Version, manifestVersion)
	}
	m := saved.Manifest
	for _, sf := range saved.Files {
		f := File{Path: sf.Path, Mode: sf.Mode, SHA256: sf.SHA256, Size: sf.Size, Ignored: sf.Ignored}
		if sf.RawPath != nil {
			f.Path = string(sf.RawPath)
		}
		m.Files = append(m.Files, f)
	}
	wantID := m.ID
	if m.identify(); m.TreeID != treeID || m.ID != wantID {
		return nil, fmt.Errorf("%s: damaged: its files are those of tree %s", file, m.TreeID)
	}
	return &m, nil
}

func (s Store) manifestFile(treeID string) string {
	return filepath.Join(s.Dir, "manifests", treeID+".json")
}
