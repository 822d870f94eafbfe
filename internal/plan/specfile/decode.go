package specfile

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/xrun-dev/xrun/internal/plan"
)

// A decoder copies CUE values into the types of package plan by the names in their json tags, which a test keeps equal
// to the schema's. cue.Value.Decode would lose the order of fields and the digits of large numbers.
//
// It is lenient: a value that is missing or wrong is left out, because the diagnosis has reported it. Only what CUE
// accepts and Go cannot hold is reported here.
type decoder struct {
	source *source
	report func(path []string, message, suggestion string)
	// set collects the paths, below skip components, that have a value.
	set  map[string]bool
	skip int
}

// special decodes the types whose form in CUE is not that of the Go type.
func (d *decoder) special(v cue.Value, rv reflect.Value, path []string) bool {
	switch p := rv.Addr().Interface().(type) {
	case *plan.Value:
		set(p, v, path, d.scalar)
	case *plan.Duration:
		set(p, v, path, d.duration)
	case *plan.Bytes:
		set(p, v, path, d.bytes)
	case *plan.Seeds:
		set(p, v, path, d.seeds)
	case *plan.Axes:
		set(p, v, path, d.axes)
	case *plan.Match:
		set(p, v, path, d.match)
	case *plan.Params:
		set(p, v, path, d.params)
	case *[]plan.Dist:
		set(p, v, path, d.dists)
	case *plan.Canary:
		set(p, v, path, d.canary)
	case *plan.GPUs:
		set(p, v, path, d.gpus)
	default:
		return false
	}
	return true
}

func set[T any](p *T, v cue.Value, path []string, f func(cue.Value, []string) (T, bool)) {
	if x, ok := f(v, path); ok {
		*p = x
	}
}

// decode puts v into rv.
func (d *decoder) decode(v cue.Value, rv reflect.Value, path []string) {
	// A template's `*1 | int` counts as 1, as everywhere in CUE.
	if chosen, ok := v.Default(); ok {
		v = chosen
	}
	if d.special(v, rv, path) {
		return
	}
	switch rv.Kind() {
	case reflect.Pointer:
		p := reflect.New(rv.Type().Elem())
		d.decode(v, p.Elem(), path)
		rv.Set(p)
	case reflect.Struct:
		d.fields(v, rv, path)
	case reflect.Map:
		rv.Set(reflect.MakeMap(rv.Type()))
		d.each(v, path, func(name string, v cue.Value, path []string) {
			e := reflect.New(rv.Type().Elem()).Elem()
			d.decode(v, e, path)
			rv.SetMapIndex(reflect.ValueOf(name), e)
		})
	case reflect.Slice:
		d.slice(v, rv, path)
	case reflect.String:
		if s, err := v.String(); err == nil {
			rv.SetString(s)
		}
	case reflect.Bool:
		if b, err := v.Bool(); err == nil {
			rv.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		d.integer(v, rv, path)
	case reflect.Uint64:
		if n, err := v.Uint64(); err == nil {
			rv.SetUint(n)
		} else if v.IncompleteKind() == cue.IntKind && v.IsConcrete() {
			d.report(path, "the number is too large", "")
		}
	case reflect.Float64:
		if n, ok := d.scalar(v, path); ok {
			f, _ := n.Float64()
			rv.SetFloat(f)
		}
	}
}

func (d *decoder) integer(v cue.Value, rv reflect.Value, path []string) {
	n, ok := integer(v)
	if !ok {
		return
	}
	if !n.IsInt64() || rv.OverflowInt(n.Int64()) {
		d.report(path, "the number is too large", "")
		return
	}
	rv.SetInt(n.Int64())
}

func integer(v cue.Value) (*big.Int, bool) {
	if !v.IsConcrete() || v.Kind() != cue.IntKind {
		return nil, false
	}
	n, err := v.Int(nil)
	return n, err == nil
}

// slice decodes a list; where the schema allows one value for a list of one, that too.
func (d *decoder) slice(v cue.Value, rv reflect.Value, path []string) {
	if !isList(v) {
		e := reflect.New(rv.Type().Elem()).Elem()
		d.decode(v, e, path)
		if v.IsConcrete() {
			rv.Set(reflect.Append(reflect.MakeSlice(rv.Type(), 0, 1), e))
		}
		return
	}
	out := reflect.MakeSlice(rv.Type(), 0, 4)
	d.list(v, path, func(v cue.Value, path []string) {
		e := reflect.New(rv.Type().Elem()).Elem()
		d.decode(v, e, path)
		out = reflect.Append(out, e)
	})
	rv.Set(out)
}

// isList reports whether v is a list, also where an element of it is wrong.
func isList(v cue.Value) bool {
	_, err := v.List()
	return err == nil
}

// fields decodes the fields of a struct, also those of embedded ones. They are looked up by name: cue.Value.Fields first
// sorts what it yields, which costs as much as all the rest.
func (d *decoder) fields(v cue.Value, rv reflect.Value, path []string) {
	for _, p := range slotsOf(rv.Type()) {
		w := v.LookupPath(p.path)
		if !w.Exists() || absent(w) {
			continue
		}
		at := append(slices.Clip(path), p.name)
		d.mark(at)
		d.decode(w, rv.FieldByIndex(p.index), at)
	}
}

// A slot is where a field of a struct in CUE goes in its Go type.
type slot struct {
	name  string
	path  cue.Path
	index []int
}

var slotsByType sync.Map // of reflect.Type: []slot

func slotsOf(t reflect.Type) []slot {
	if ps, ok := slotsByType.Load(t); ok {
		return ps.([]slot)
	}
	var ps []slot
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !f.Anonymous {
			ps = append(ps, slot{name, cue.MakePath(cue.Str(name)), f.Index})
		}
	}
	slotsByType.Store(t, ps)
	return ps
}

// mark notes that the spec itself sets what is at path.
func (d *decoder) mark(path []string) {
	if d.set != nil && len(path) > d.skip {
		d.set[strings.Join(path[d.skip:], ".")] = true
	}
}

// ordered is each in the order of the source.
func (d *decoder) ordered(v cue.Value, path []string, f func(name string, v cue.Value, path []string)) {
	type item struct {
		v    cue.Value
		path []string
	}
	var names []string
	items := map[string]item{}
	d.each(v, path, func(name string, v cue.Value, path []string) {
		names = append(names, name)
		items[name] = item{v, path}
	})
	for _, name := range d.source.order(path, names) {
		f(name, items[name].v, items[name].path)
	}
}

// each calls f for the fields of v.
func (d *decoder) each(v cue.Value, path []string, f func(name string, v cue.Value, path []string)) {
	if !v.Exists() {
		return
	}
	it, err := v.Fields()
	if err != nil {
		return
	}
	for it.Next() {
		// Fields yields the elements of a list with an error in it.
		if it.Selector().LabelType() != cue.StringLabel || absent(it.Value()) {
			continue
		}
		name := it.Selector().Unquoted()
		p := append(slices.Clip(path), name)
		d.mark(p)
		f(name, it.Value(), p)
	}
}

// absent reports whether a field that Fields yields is a required one that is missing.
func absent(v cue.Value) bool {
	err := v.Err()
	if err == nil {
		return false
	}
	for _, e := range errors.Errors(err) {
		if format, _ := e.Msg(); strings.HasPrefix(format, msgRequired) && len(e.Path()) == len(v.Path().Selectors()) {
			return true
		}
	}
	return false
}

// list calls f for the elements of v.
func (d *decoder) list(v cue.Value, path []string, f func(v cue.Value, path []string)) {
	it, err := v.List()
	if err != nil {
		return
	}
	// What is below an element has no path of its own in Set.
	set := d.set
	d.set = nil
	for i := 0; it.Next(); i++ {
		f(it.Value(), append(slices.Clip(path), fmt.Sprint(i)))
	}
	d.set = set
}
