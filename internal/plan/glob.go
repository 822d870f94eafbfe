package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// A FoundFile is one file on a host that a Glob matches. Size, in bytes, and MTime, in nanoseconds of the Unix epoch,
// stand for its content: they are part of the identity of trials that use it.
type FoundFile struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
}

// Globs lists the files of each Glob of a spec, as far as hosts were asked.
type Globs map[Glob][]FoundFile

// Globs are those of the axes of the spec, each once, in its order.
func (s *Spec) Globs() []Glob {
	var out []Glob
	for i := range s.Experiments {
		if sw := s.Experiments[i].Sweep; sw != nil {
			sw.axes(func(a Axis, _ []string) {
				if a.Glob != nil && !slices.Contains(out, *a.Glob) {
					out = append(out, *a.Glob)
				}
			})
		}
	}
	return out
}

// resolved is e with the files in place of its globs, and what stands for their content by parameter and value. ok is
// false where a host was not asked yet.
func (e *Experiment) resolved(found Globs) (out *Experiment, files map[string]map[string]string, ok bool, err error) {
	if e.glob() == "" {
		return e, nil, true, nil
	}
	c, sweep := *e, *e.Sweep
	c.Sweep, files, ok = &sweep, map[string]map[string]string{}, true
	fill := func(axes Axes) Axes {
		axes = slices.Clone(axes)
		for i, a := range axes {
			if a.Glob == nil {
				continue
			}
			list, asked := found[*a.Glob]
			switch {
			case !asked:
				ok = false
				continue
			case len(list) == 0:
				err = fmt.Errorf("no file matches {glob: %q} on host %s", a.Glob.Glob, a.Glob.On)
			}
			axes[i] = Axis{Name: a.Name}
			if files[a.Name] == nil {
				files[a.Name] = map[string]string{}
			}
			for _, f := range naturally(list) {
				axes[i].Values = append(axes[i].Values, StringValue(f.Path))
				files[a.Name][f.Path] = hashJSON([]int64{f.Size, f.MTime})
			}
		}
		return axes
	}
	sweep.Grid, sweep.Zip = fill(sweep.Grid), fill(sweep.Zip)
	sweep.Cases = slices.Clone(sweep.Cases)
	for i := range sweep.Cases {
		sweep.Cases[i] = fill(sweep.Cases[i])
	}
	if err == nil && ok {
		err = sweep.sameLengths()
	}
	return &c, files, ok, err
}

// sameLengths is the error of a zip whose axes turned out to have unlike numbers of files.
func (s *Sweep) sameLengths() error {
	for _, a := range s.Zip {
		if len(s.Zip[0].Values) > 0 && len(a.Values) > 0 && len(a.Values) != len(s.Zip[0].Values) {
			return fmt.Errorf("the axes of zip move together: %s has %d values, %s has %d", s.Zip[0].Name, len(s.Zip[0].Values), a.Name, len(a.Values))
		}
	}
	return nil
}

// naturally sorts files as people count them: step_2 before step_10.
func naturally(files []FoundFile) []FoundFile {
	out := slices.Clone(files)
	slices.SortFunc(out, func(a, b FoundFile) int { return natural(a.Path, b.Path) })
	return out
}

func natural(a, b string) int {
	for a != "" && b != "" {
		if digit(a[0]) && digit(b[0]) {
			x, y := digits(a), digits(b)
			n, _ := strconv.ParseUint(x, 10, 64) // numbers too large for it are equal here, and differ in length below
			m, _ := strconv.ParseUint(y, 10, 64)
			if c := cmp.Or(cmp.Compare(n, m), cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) string {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return s[:n]
}
