package metric

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func describe(r Result) string {
	switch {
	case r.Diverged:
		return "diverged"
	case r.Failed:
		return "failed: " + r.Problem
	case !r.Found && len(r.NearMisses) > 0:
		return "near: " + strings.Join(r.NearMisses, "; ")
	case !r.Found:
		return "none"
	}
	return fmt.Sprint(r.Value)
}

func TestReadJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, pointer, want string }{
		"a document":              {`{"test": {"acc": 0.91, "loss": 0.3}}`, "/test/acc", "0.91"},
		"the document itself":     {"0.5\n", "", "0.5"},
		"an element of a list":    {`{"folds": [{"acc": 1}, {"acc": 0.25}]}`, "/folds/1/acc", "0.25"},
		"a number in quotes":      {`{"acc": " 1e-05 "}`, "/acc", "1e-05"},
		"lines":                   {"{\"loss\": 3}\n{\"loss\": 2}\n{\"lr\": 1}\n", "/loss", "2"},
		"a name with a slash":     {`{"val/acc": 0.5, "m~n": 1}`, "/val~1acc", "0.5"},
		"the last of two":         {`{"a": 1, "a": 2}`, "/a", "2"},
		"pretty":                  {"{\r\n  \"a\" : [ ] ,\r\n  \"b\":{ },\n \"acc\"\t:\n 7 }", "/acc", "7"},
		"a byte order mark":       {"\ufeff{\"a\": 1}", "/a", "1"},
		"what Python writes":      {`{"a": NaN}`, "/a", "diverged"},
		"infinity":                {`{"a": -Infinity, "b": 1}`, "/a", "diverged"},
		"null":                    {`{"a": null}`, "/a", `failed: line 1, column 7: m is printed as "null", which is not a number`},
		"a list where a number…":  {"{\n\"a\": [1]}", "/a", `failed: line 2, column 6: m is printed as "a list", which is not a number`},
		"half a number":           {`{"a": "71.5%"}`, "/a", `failed: line 1, column 7: m is printed as "71.5%", which is no number as it stands`},
		"another place":           {`{"test": {"accuracy": 0.9}, "val": {"acc": 0.8}}`, "/test/acc", "near: /val/acc = 0.8, line 1"},
		"nothing":                 {"", "/a", "none"},
		"no JSON":                 {"{\"a\": 1,\n \"b\" 2}", "/a", "failed: line 2, column 7: a colon is missing"},
		"cut off":                 {"{\"a\": 1}\n{\"a\": ", "/a", "failed: line 2, column 7: the file ends within a value"},
		"cut off behind a number": {"{\"a\": 12", "/a", "failed: line 1, column 9: the file ends within a value"},
		"too deep":                {strings.Repeat("[", 2000), "/a", "failed: line 1, column 65: the values nest too deep"},
		"a large integer":         {`{"a": 9007199254740993}`, "/a", "9.007199254740992e+15"},
		"escapes in a key":        {`{"val\u0020acc": 2}`, "/val acc", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{"whole": strings.NewReader(c.text), "by bytes": iotest.OneByteReader(strings.NewReader(c.text))} {
				got, err := ReadJSON(r, Want{Name: "m", Pick: "last"}, c.pointer, nil)
				if err != nil || describe(got) != c.want {
					t.Errorf("%s: %s (%v), want %s", kind, describe(got), err, c.want)
				}
			}
		})
	}
}

func TestReadCSV(t *testing.T) {
	for name, c := range map[string]struct{ text, column, pick, want string }{
		"the last":             {"epoch,acc\n1,0.5\n2,0.7\n", "acc", "last", "0.7"},
		"the best":             {"epoch,acc\n1,0.9\n2,0.7\n", "acc", "max", "0.9"},
		"cells may be empty":   {"epoch,loss,acc\n1,0.5,\n1,,0.25\n2,0.4,\n", "acc", "last", "0.25"},
		"short rows":           {"a,b\n1\n2,3\n4\n", "b", "last", "3"},
		"semicolons":           {"a;b\r\n1;2\r\n", "b", "last", "2"},
		"tabs":                 {"a\tb\n1\t2\n", "b", "last", "2"},
		"quotes":               {"\"a,x\",\"b\"\n\"1\",\"2\"\n", "a,x", "last", "1"},
		"a stray quote":        {"epoch,acc,note\n1,0.1,ok\n2,0.2,\"stray\n3,0.3,ok\n", "acc", "last", "failed: line 3 begins a value in quotes that does not end"},
		"the first, before":    {"acc,note\n0.1,ok\n0.2,\"stray\n", "acc", "first", "0.1"},
		"quotes for ever":      {"acc,note\n0.1,\"" + strings.Repeat("a,1\n", 1<<20), "acc", "last", "failed: line 2 begins a value in quotes that does not end"},
		"a quote in a word":    {"acc,note\n0.1,5\" pipe\n0.2,ok\n", "acc", "last", "0.2"},
		"quotes in quotes":     {"note,acc\r\n\"say \"\"hi\"\", \"you\",\n\",0.1\r\n\"a \"b\" c\",0.2\r\n\"\",0.3\r\n\"x\"\r\n", "acc", "last", "0.3"},
		"quoted at the end":    {"note,acc\nx,\"0.5\"", "acc", "last", "0.5"},
		"a byte order mark":    {"\ufeffacc\n3\n", "acc", "last", "3"},
		"diverged":             {"acc\n1\nnan\n", "acc", "last", "diverged"},
		"no number":            {"acc\n1\nfailed\n", "acc", "last", "1"},
		"half a number":        {"acc\n1\n50%\n", "acc", "last", `failed: line 3, column 1: m is printed as "50%", which is no number as it stands`},
		"another column":       {"epoch,val_acc\n1,0.5\n", "acc", "last", "near: val_acc = 0.5, line 2"},
		"a header alone":       {"epoch,acc\n", "acc", "last", "none"},
		"an empty file":        {"", "acc", "last", "failed: the file is empty"},
		"a line without end":   {"acc\n" + strings.Repeat("1", 3<<20), "acc", "last", "failed: line 2 is longer than 1 MiB"},
		"no newline at last":   {"acc\n1\n2", "acc", "last", "2"},
		"a number by thousand": {"acc\n\"1,234.5\"\n", "acc", "last", `failed: line 2, column 1: m is printed as "1,234.5", which is no number as it stands`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadCSV(strings.NewReader(c.text), Want{Name: "m", Pick: c.pick}, c.column, nil)
			if err != nil || describe(got) != c.want {
				t.Errorf("%s (%v), want %s", describe(got), err, c.want)
			}
		})
	}
}

func TestFilesGiveASeries(t *testing.T) {
	series := func(read func(on func(Reading)) (Result, error)) string {
		var out []string
		_, err := read(func(r Reading) {
			step := "none"
			if r.Step != nil {
				step = fmt.Sprint(*r.Step)
			}
			out = append(out, fmt.Sprintf("%d:%s@%s", r.Line, r.Text, step))
		})
		if err != nil {
			t.Error(err)
		}
		return strings.Join(out, " ")
	}
	if got := series(func(on func(Reading)) (Result, error) {
		return ReadCSV(strings.NewReader("step,epoch,acc\n10,1,0.5\n,2,0.6\n30,,0.7\n"), Want{Name: "m"}, "acc", on)
	}); got != "2:0.5@10 3:0.6@2 4:0.7@30" {
		t.Error(got)
	}
	if got := series(func(on func(Reading)) (Result, error) {
		return ReadJSON(strings.NewReader("{\"epoch\": 1, \"loss\": 3}\n{\"loss\": 2, \"Step\": 20, \"epoch\": 2}\n{\"x\": {\"step\": 1}, \"loss\": 1}\n"), Want{Name: "m"}, "/loss", on)
	}); got != "1:3@1 2:2@20 3:1@none" {
		t.Error(got)
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	gone := errors.New("gone")
	if _, err := ReadJSON(iotest.ErrReader(gone), Want{Name: "m"}, "/a", nil); !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := ReadJSON(io.MultiReader(strings.NewReader(`{"a": `), iotest.ErrReader(gone)), Want{Name: "m"}, "/a", nil); !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := ReadCSV(io.MultiReader(strings.NewReader("a\n1\n"), iotest.ErrReader(gone)), Want{Name: "m"}, "a", nil); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestTheScannerAgreesWithGo: for random documents every number is found at its pointer.
func TestTheScannerAgreesWithGo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var build func(depth int) any
	build = func(depth int) any {
		switch n := rnd.IntN(6); {
		case n < 2 && depth > 0:
			m := map[string]any{}
			for range rnd.IntN(4) {
				m[[]string{"a", "b/c", "~", "é", `q"`, ""}[rnd.IntN(6)]] = build(depth - 1)
			}
			return m
		case n < 3 && depth > 0:
			var l []any
			for range rnd.IntN(3) {
				l = append(l, build(depth-1))
			}
			return l
		case n < 5:
			return rnd.NormFloat64() * 1e6
		}
		return "text"
	}
	var check func(t *testing.T, text string, at []string, v any)
	check = func(t *testing.T, text string, at []string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				check(t, text, append(at[:len(at):len(at)], k), inner)
			}
		case []any:
			for i, inner := range v {
				check(t, text, append(at[:len(at):len(at)], fmt.Sprint(i)), inner)
			}
		case float64:
			if r, err := ReadJSON(strings.NewReader(text), Want{Name: "m"}, pointerOf(at), nil); err != nil || r.Value != v {
				t.Errorf("%s of %s: %v, %v, want %v", pointerOf(at), text, r.Value, err, v)
			}
		}
	}
	for range 300 {
		doc := build(4)
		text, err := json.MarshalIndent(doc, "", strings.Repeat(" ", rnd.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		check(t, string(text), nil, doc)
	}
}

// openQuotes must see quotes as the CSV reader does: a row that follows is a row for the one if no value is open for the
// other.
func TestQuotesAreOpenAsTheReaderSeesThem(t *testing.T) {
	const letters = "\"\"\"\",,a\n\r"
	rnd := rand.New(rand.NewPCG(1, 2))
	seen := map[bool]int{}
	for range 20_000 {
		text := make([]byte, rnd.IntN(12))
		for i := range text {
			text[i] = letters[rnd.IntN(len(letters))]
		}
		_, err := io.ReadAll(&openQuotes{r: bytes.NewReader(text), comma: ',', line: 1})
		lax := csv.NewReader(strings.NewReader(string(text) + "\nz,z\n"))
		lax.LazyQuotes, lax.FieldsPerRecord = true, -1
		rows, readErr := lax.ReadAll()
		if readErr != nil {
			t.Fatal(readErr)
		}
		last := rows[len(rows)-1]
		ended := len(last) == 2 && last[0] == "z" && last[1] == "z"
		if ended != (err == nil) {
			t.Fatalf("%q: %v, and the last row is %q", text, err, last)
		}
		seen[ended]++
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("one-sided: %v", seen)
	}
}
