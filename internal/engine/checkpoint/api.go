package checkpoint

import (
	"errors"
	"fmt"
)

// A Selection says which files of a tree are shipped. The globs are those of Match, relative to the code's directory;
// the plain name of a directory takes all that lies below it. What Exclude names is not shipped, whatever else says so.
type Selection struct {
	// Dir is the absolute directory of the code (code.path).
	Dir string
	// Within is a directory that Dir must not leave through its links; "" is none.
	Within string
	// Include, Exclude and Ignore are code.include, code.exclude and code.ignore.
	Include, Exclude, Ignore []string
	// Omit are absolute paths of files and directories that are never shipped unless Include names them: the files of
	// the spec, cue.mod, the state directory.
	Omit []string
	// OmitFile says the same of files that the caller does not know beforehand; nil of none. It is asked by absolute path.
	OmitFile func(path string) bool
	// MaxSize bounds the bytes of all files together.
	MaxSize int64
}

// A File is one file that is shipped. Path is relative to the code's directory, slash-separated, byte for byte.
type File struct {
	Path    string
	Mode    string // "100644", "100755" or "120000"
	SHA256  string // of the bytes; of a link's target
	Size    int64
	Ignored bool // shipped, not part of the identity
}

// A Manifest is a version of the code.
type Manifest struct {
	// ID is the hash of path, mode and sha256 of the files that are not Ignored; TreeID that of all.
	ID, TreeID string
	Dir        string
	Files      []File // sorted by path
	Bytes      int64
	Commit     string   // of HEAD; empty outside git or before the first commit
	Dirty      bool     // what is shipped differs from that commit
	Notes      []string // what was left out or could not be told
	Links      []Link   `json:"-"` // those that lead outside, in the order of Files
}

// A Link is a link that is shipped.
type Link struct{ Path, Target string }

// ErrTooLarge is the error of a tree above Selection.MaxSize.
var ErrTooLarge = errors.New("code is larger than code.max_size")

// A SelectionError is about one field of a Selection.
type SelectionError struct {
	Field string // "path", "include", "exclude", "ignore" or "max_size"; "" is the selection as a whole
	Err   error
	hint  string
}

// Error is what is wrong.
func (e *SelectionError) Error() string { return e.Err.Error() }

// Unwrap is the error without its field.
func (e *SelectionError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *SelectionError) Hint() string { return e.hint }

// wrong makes a SelectionError.
func wrong(field, hint, format string, args ...any) error {
	return &SelectionError{Field: field, Err: fmt.Errorf(format, args...), hint: hint}
}
