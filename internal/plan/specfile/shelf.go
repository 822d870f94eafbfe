package specfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"cuelang.org/go/cue/parser"
)

// largest is how big a file of CUE may be. A list of a million numbers has 8 MiB, and CUE takes a minute for it.
const largest = 16 << 20

// A cueFile is an entry of a directory whose name ends in .cue, and which is no directory.
type cueFile struct {
	name string // base name
	path string
	link bool
	// pkg is the name in the package clause; "" without one, and for a file that cannot be read or parsed so far.
	pkg   string
	unfit *unfit
}

// A shelf lists directories and reads package clauses once, however many packages share a directory.
type shelf struct {
	dirs     map[string][]cueFile
	packaged map[string]map[string][]string // directory, package: base names
	pipes    map[string][]string            // directory: paths of pipes and the like whose names end in something else
}

func newShelf() *shelf {
	return &shelf{dirs: map[string][]cueFile{}, packaged: map[string]map[string][]string{}, pipes: map[string][]string{}}
}

// dir lists the files of a directory that CUE would look at. One that cannot be listed has none; what needs it says so.
func (s *shelf) dir(dir string) []cueFile {
	if files, ok := s.dirs[dir]; ok {
		return files
	}
	entries, _ := os.ReadDir(dir)
	files, packaged := []cueFile{}, map[string][]string{}
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".cue") {
			// CUE opens whatever may be JSON, YAML, text … and is no file; of a file it does not.
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
				s.pipes[dir] = append(s.pipes[dir], path)
			}
		}
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".cue") || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			continue
		}
		f := cueFile{name: e.Name(), path: filepath.Join(dir, e.Name()), link: e.Type()&fs.ModeSymlink != 0}
		if f.unfit = unfitness(f.path); f.unfit == nil {
			f.pkg = packageOf(f.path)
		}
		files = append(files, f)
		if isSpecFile(f.name) {
			packaged[f.pkg] = append(packaged[f.pkg], f.name)
		}
	}
	s.dirs[dir], s.packaged[dir] = files, packaged
	return files
}

// of are the base names of the files of a package in one directory; pkg "" are those without a package clause.
func (s *shelf) of(dir, pkg string) []string {
	s.dir(dir)
	return s.packaged[dir][pkg]
}

// unfit says why something is not read. A named pipe would be waited for, a device never ends.
type unfit struct{ message, hint string }

func (e *unfit) Error() string { return e.message }

// Hint says what to do.
func (e *unfit) Hint() string { return e.hint }

// unfitness is why a path is not read, nil for what is a file of reasonable size, be it behind links.
func unfitness(path string) *unfit {
	const rename = "remove it, or give it a name that does not end in .cue"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return &unfit{"this link leads in a circle", "remove it"}
	case errors.Is(err, fs.ErrNotExist):
		return &unfit{"this link leads nowhere", "remove it"}
	case err != nil:
		return &unfit{"cannot be read: " + inner(err).Error(), ""}
	case info.IsDir():
		return &unfit{"this is a directory, not a file", rename}
	case !info.Mode().IsRegular():
		return &unfit{"this is " + kindOf(info.Mode()) + ", not a file", rename}
	case wideEncoding(path):
		return &unfit{"this file is not in UTF-8 but in UTF-16", "save it as UTF-8"}
	case info.Size() > largest:
		return &unfit{
			fmt.Sprintf("this file has %d MiB, and %d MiB are the most that is read", info.Size()>>20, largest>>20),
			"say large parameter spaces in few words, with sweep.grid or a comprehension",
		}
	}
	return nil
}

// wideEncoding reports whether a file begins with the mark of UTF-16.
func wideEncoding(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // reading it says why
	}
	defer f.Close()
	mark := make([]byte, 2)
	_, err = io.ReadFull(f, mark)
	return err == nil && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff)
}

// notUTF8 is the line and column of the first byte of a text that is no UTF-8; 0 if there is none.
func notUTF8(text []byte) (line, col int) {
	if utf8.Valid(text) {
		return 0, 0
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			before := text[:i]
			return 1 + bytes.Count(before, []byte("\n")), i - bytes.LastIndexByte(before, '\n')
		}
		i += size
	}
	return 0, 0
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// readText reads a file of CUE, or says why it is not read.
func readText(path string) ([]byte, error) {
	if u := unfitness(path); u != nil {
		return nil, u
	}
	return os.ReadFile(path)
}

// packageOf is the name in the file's package clause. A file that cannot be parsed so far has none; loading it says why.
func packageOf(file string) string {
	text, err := readText(file)
	if err != nil {
		return ""
	}
	syntax, err := parser.ParseFile(file, text, parser.PackageClauseOnly)
	if err != nil || syntax.PackageName() == "_" {
		return ""
	}
	return syntax.PackageName()
}
