package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is a value of type t in which every field is set, differently from n to n.
func full(t reflect.Type, n *int) reflect.Value {
	*n++
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, *n, time.UTC))
	case reflect.TypeFor[json.RawMessage]():
		return reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"z":%d,"a":9007199254740993}`, *n)))
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(full(t.Elem(), n))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(full(t.Field(i).Type, n))
		}
	case reflect.Slice:
		for range 2 {
			v = reflect.Append(v, full(t.Elem(), n))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(full(t.Key(), n), full(t.Elem(), n))
	case reflect.String:
		v.SetString(fmt.Sprintf("<ä>&\"\n%d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 7)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(t)
	}
	return v
}

func TestEveryTypeOfEventComesBackAsItWas(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	var heard []Event
	l.Listen(func(e Event) { heard = append(heard, e) })
	n := 0
	var want []Event
	for _, info := range Types {
		for _, b := range []reflect.Value{full(info.body, &n), reflect.Zero(info.body)} {
			run := fmt.Sprintf("r%03d", n) // some events may stand once in a run only
			want = append(want, New(run, time.Now(), b.Interface().(Body)))
			n++
		}
	}
	if err := l.Append(t.Context(), want...); err != nil {
		t.Fatal(err)
	}
	var got []Event
	for _, w := range want {
		got = append(got, all(t, l, w.Run)...)
	}
	for i := range want {
		if want[i].Seq == 0 {
			t.Fatal("Append leaves Seq 0")
		}
	}
	null := func(m json.RawMessage) string {
		if m == nil {
			return "null"
		}
		return string(m)
	}
	raw := cmp.Comparer(func(a, b json.RawMessage) bool { return null(a) == null(b) })
	if diff := cmp.Diff(want, got, sameEvents, raw); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, heard, sameEvents, raw); diff != "" {
		t.Errorf("heard: %s", diff)
	}
	for _, w := range want {
		line, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var back Event
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, back, sameEvents, raw); diff != "" {
			t.Errorf("a line of events.jsonl: %s", diff)
		}
	}
}

func TestNumbersThatAreNotFiniteAreNull(t *testing.T) {
	in := MetricValues{Metric: "loss", Values: []MetricValue{{Value: Number(math.NaN()), Text: "nan"}, {Value: Number(math.Inf(1)), Text: "inf"}, {Value: 0.1}}}
	b, err := json.Marshal(in)
	if err != nil || strings.Count(string(b), `"value":null`) != 2 {
		t.Fatalf("%s, %v", b, err)
	}
	out, err := DecodeBody("metric_values", b)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out.(MetricValues).Values {
		if math.IsNaN(float64(v.Value)) != (i < 2) || v.Text != in.Values[i].Text || v.Step != nil {
			t.Errorf("value %d is %v", i, v)
		}
	}
	fin, err := DecodeBody("attempt_finished", []byte(`{"metrics":{"loss":null,"acc":1},"objective":null}`))
	if f := fin.(AttemptFinished); err != nil || !math.IsNaN(float64(f.Metrics["loss"])) || f.Metrics["acc"] != 1 || f.Objective != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAnEventThatIsNotKnownIsAnError(t *testing.T) {
	for _, c := range []struct{ typ, body, want string }{
		{"from_the_future", `{}`, "not known to this version"},
		{"run_started", `[]`, "event run_started"},
	} {
		if _, err := DecodeBody(Type(c.typ), []byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.typ, err)
		}
	}
	var e Event
	if err := json.Unmarshal([]byte(`{"type":"nothing","body":{}}`), &e); err == nil {
		t.Error("a line with an unknown type is read")
	}
}

func TestEachTypeStandsInTheListOnce(t *testing.T) {
	seen := map[Type]bool{}
	for _, i := range Types {
		if seen[i.Type] || i.Doc == "" || i.Type == "" {
			t.Errorf("%q stands twice or says nothing", i.Type)
		}
		seen[i.Type] = true
	}
}

func TestFinalStates(t *testing.T) {
	for _, s := range []State{Succeeded, Failed, StoppedEarly, Cancelled, Lost, NotRun, Reused, Superseded} {
		if !s.Final() {
			t.Errorf("%s is not final", s)
		}
	}
	for _, s := range []State{Queued, Leased, Staging, Running, Collecting, Unknown} {
		if s.Final() {
			t.Errorf("%s is final", s)
		}
	}
}
