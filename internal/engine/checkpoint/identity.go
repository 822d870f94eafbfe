package checkpoint

import (
	"crypto/sha256"
	"encoding/base32"
	"io"
	"slices"
	"strings"
)

const idLength = 12

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// identify sorts the files and derives ID and TreeID from them.
func (m *Manifest) identify() {
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	m.ID = hashFiles(m.Files, func(f File) bool { return !f.Ignored })
	m.TreeID = hashFiles(m.Files, func(File) bool { return true })
}

// hashFiles hashes lines of "mode sha256 path", each ended by NUL, which no path holds.
func hashFiles(files []File, counts func(File) bool) string {
	h := sha256.New()
	for _, f := range files {
		if counts(f) {
			io.WriteString(h, f.Mode+" "+f.SHA256+" "+f.Path+"\x00")
		}
	}
	return idEncoding.EncodeToString(h.Sum(nil))[:idLength]
}
