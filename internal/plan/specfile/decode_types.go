package specfile

import (
	"reflect"
	"time"

	"cuelang.org/go/cue"

	"github.com/xrun-dev/xrun/internal/plan"
)

const numberRange = "a number between 1e-308 and 1e308 in size, or 0"

// scalar keeps every digit of an integer; other numbers become what a program would read.
func (d *decoder) scalar(v cue.Value, path []string) (plan.Value, bool) {
	if !v.IsConcrete() {
		return plan.Value{}, false
	}
	switch v.Kind() {
	case cue.StringKind:
		s, err := v.String()
		return plan.StringValue(s), err == nil
	case cue.BoolKind:
		b, err := v.Bool()
		return plan.BoolValue(b), err == nil
	case cue.IntKind, cue.FloatKind:
		text, err := v.MarshalJSON()
		if err != nil {
			return plan.Value{}, false
		}
		n, err := plan.NumberValue(string(text))
		if err != nil {
			d.report(path, err.Error(), numberRange)
		}
		return n, err == nil
	default:
		return plan.Value{}, false
	}
}

func (d *decoder) duration(v cue.Value, path []string) (plan.Duration, bool) {
	s, err := v.String()
	if err != nil {
		return 0, false
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		d.report(path, err.Error(), `a duration like "90s" or "1h30m"`)
		return 0, false
	}
	return plan.Duration(t), true
}

func (d *decoder) bytes(v cue.Value, path []string) (plan.Bytes, bool) {
	s, err := v.String()
	if err != nil {
		return 0, false
	}
	n, err := plan.ParseBytes(s)
	if err != nil {
		d.report(path, err.Error(), "")
	}
	return n, err == nil
}

// seeds turns a count n into 0 to n-1.
func (d *decoder) seeds(v cue.Value, path []string) (plan.Seeds, bool) {
	if n, ok := integer(v); ok {
		// The schema allows 10,000 at most; what it refused is not made either.
		if !n.IsInt64() || n.Int64() < 1 || n.Int64() > 10_000 {
			return nil, false
		}
		seeds := make(plan.Seeds, n.Int64())
		for i := range seeds {
			seeds[i] = int64(i)
		}
		return seeds, true
	}
	var seeds plan.Seeds
	d.list(v, path, func(v cue.Value, path []string) {
		n, ok := integer(v)
		switch {
		case !ok:
		case !n.IsInt64():
			d.report(path, "the seed is too large", "a seed is a whole number that fits into 64 bits")
		default:
			seeds = append(seeds, n.Int64())
		}
	})
	return seeds, seeds != nil
}

func (d *decoder) values(v cue.Value, path []string) []plan.Value {
	var values []plan.Value
	d.list(v, path, func(v cue.Value, path []string) {
		if s, ok := d.scalar(v, path); ok {
			values = append(values, s)
		}
	})
	return values
}

// axes keeps the order of the source. In a case, one value stands for a list of one.
func (d *decoder) axes(v cue.Value, path []string) (plan.Axes, bool) {
	axes := plan.Axes{}
	d.ordered(v, path, func(name string, v cue.Value, path []string) {
		a := plan.Axis{Name: name}
		switch {
		case isList(v):
			a.Values = d.values(v, path)
		case v.IncompleteKind() != cue.StructKind:
			if s, ok := d.scalar(v, path); ok {
				a.Values = []plan.Value{s}
			}
		case v.LookupPath(cue.MakePath(cue.Str("glob"))).Exists():
			d.decode(v, reflect.ValueOf(&a.Glob).Elem(), path)
		default:
			d.decode(v, reflect.ValueOf(&a.Range).Elem(), path)
		}
		axes = append(axes, a)
	})
	return axes, true
}

func (d *decoder) match(v cue.Value, path []string) (plan.Match, bool) {
	axes, ok := d.axes(v, path)
	return plan.Match(axes), ok
}

func (d *decoder) params(v cue.Value, path []string) (plan.Params, bool) {
	params := plan.Params{}
	d.ordered(v, path, func(name string, v cue.Value, path []string) {
		if s, ok := d.scalar(v, path); ok {
			params = append(params, plan.Param{Name: name, Value: s})
		}
	})
	return params, true
}

func (d *decoder) dists(v cue.Value, path []string) ([]plan.Dist, bool) {
	dists := []plan.Dist{}
	d.ordered(v, path, func(name string, v cue.Value, path []string) {
		dist := plan.Dist{}
		d.decode(v, reflect.ValueOf(&dist).Elem(), path)
		dist.Name = name
		dists = append(dists, dist)
	})
	return dists, true
}

func (d *decoder) canary(v cue.Value, path []string) (plan.Canary, bool) {
	if b, err := v.Bool(); err == nil {
		return plan.Canary{Off: !b}, true
	}
	t, ok := d.duration(v, path)
	return plan.Canary{For: t}, ok
}

func (d *decoder) gpus(v cue.Value, path []string) (plan.GPUs, bool) {
	if n, ok := integer(v); ok && n.IsInt64() {
		count := int(n.Int64())
		return plan.GPUs{Count: &count}, true
	}
	if isList(v) {
		list := d.values(v, path)
		if list == nil {
			list = []plan.Value{}
		}
		return plan.GPUs{List: list}, true
	}
	s, err := v.String()
	return plan.GPUs{Auto: true}, err == nil && s == "auto"
}
