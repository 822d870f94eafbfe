package plan

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestNumbersAreCanonical(t *testing.T) {
	for want, spellings := range map[string][]string{
		"0.1":                      {"0.1", "0.10", "1e-1", "1E-1", "+0.1", "10e-2", ".1"},
		"1":                        {"1", "1.0", "1e0", "0.1e1", "10e-1", "1.", "001"},
		"0":                        {"0", "-0", "0.0", "-0.0", "0e999", "-0e-999"},
		"1000":                     {"1e3", "1000", "1.000e3", "1000.0"},
		"-2.5":                     {"-2.5", "-25e-1", "-2.50"},
		"1e-05":                    {"1e-5", "0.00001", "10e-6"},
		"0.0001":                   {"1e-4", "0.0001"},
		"9007199254740993":         {"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		"100000000000000000000000": {"1e23", "100000000000000000000000"},
		"5e-324":                   {"5e-324", "4.9e-324"},
		"0.3333333333333333":       {"0.333333333333333333333333333333"},
		"18446744073709551617":     {"18446744073709551617"},
	} {
		for _, s := range spellings {
			if v, err := NumberValue(s); err != nil || v.Text() != want || v != num(t, want) {
				t.Errorf("NumberValue(%q) = %q, %v, want %q", s, v.Text(), err, want)
			}
		}
	}
}

func TestWhatIsNoNumberIsRefused(t *testing.T) {
	for _, s := range []string{"", "e5", "1e", "abc", "0x10", "0x1p4", "1_000", "inf", "Infinity", "nan", "1.2.3", "--1", "+-1", "1 ", "1e1.5", "."} {
		if v, err := NumberValue(s); err == nil {
			t.Errorf("NumberValue(%q) = %q", s, v.Text())
		}
	}
}

func TestNumbersOutOfRangeAreRefused(t *testing.T) {
	for _, s := range []string{"1e400", "-1e400", "1e-400", "-1e-400", "1.8e308", "2e-324", strings.Repeat("9", 400)} {
		if v, err := NumberValue(s); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("NumberValue(%q) = %q, %v", s, v.Text(), err)
		}
	}
	if v := num(t, "1"+strings.Repeat("0", 400)+"e-400"); v != val(1) {
		t.Errorf("a one in many digits is %s", v)
	}
}

// The expected texts are what Python 3.11 prints for the same literals.
func TestFractionsReadAsInPython(t *testing.T) {
	for literal, repr := range map[string]string{
		"0.1": "0.1", "1e-4": "0.0001", "0.00012": "0.00012", "9.9e-5": "9.9e-05", "1e-5": "1e-05", "1.5e-7": "1.5e-07",
		"123456.789": "123456.789", "0.30000000000000004": "0.30000000000000004", "1e-100": "1e-100", "2.5e-323": "2.5e-323",
		"4503599627370495.5": "4503599627370495.5", "-3.14": "-3.14", "0.1234567890123456789": "0.12345678901234568",
		"2.2250738585072014e-308": "2.2250738585072014e-308", "0.000099999999999999999999": "0.0001",
	} {
		if got := num(t, literal).Text(); got != repr {
			t.Errorf("%s reads %s, Python prints %s", literal, got, repr)
		}
	}
}

// pythonRepr is what Python prints for a float that is not whole: the shortest digits, with an exponent below 1e-4.
func pythonRepr(f float64) string {
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	n, err := strconv.Atoi(exp)
	if err != nil {
		panic(err)
	}
	sign := ""
	if f < 0 {
		sign = "-"
	}
	switch {
	case n < -4:
		return sign + mantissa + "e" + exp
	case n < 0:
		return sign + "0." + strings.Repeat("0", -n-1) + digits
	default:
		return sign + digits[:n+1] + "." + digits[n+1:]
	}
}

func FuzzNumberValue(f *testing.F) {
	for _, s := range []string{"0", "-0", "0.1", "1e-1", "9007199254740993", "1e400", "1e-400", "1e23", "0.00001", "1/3", "9007199254740993.5", "1e99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		v, err := NumberValue(s)
		if err != nil {
			return
		}
		if again, err := NumberValue(v.Text()); err != nil || again != v {
			t.Fatalf("%q is %q, and that is %q, %v", s, v.Text(), again.Text(), err)
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q is taken for the number %s", s, v)
		}
		f64, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("%q is taken for the number %s: %v", s, v, err)
		}
		switch got := v.rat(); {
		case exact.IsInt() && got.Cmp(exact) != 0:
			t.Fatalf("the integer %q is %s", s, v)
		case exact.IsInt():
		case f64 != math.Trunc(f64) && v.Text() != pythonRepr(f64):
			t.Fatalf("%q is %s, Python prints %s", s, v, pythonRepr(f64))
		}
		if math.Abs(f64) < 1<<53 && FloatValue(f64) != v && !exact.IsInt() {
			t.Fatalf("%q is %s, as a float64 %s", s, v, FloatValue(f64))
		}
		b, err := json.Marshal(v)
		var back Value
		if err != nil || json.Unmarshal(b, &back) != nil || back != v {
			t.Fatalf("%q is %s in JSON and comes back as %s: %v", s, b, back, err)
		}
	})
}

func TestValuesOfAllKindsComeBackFromJSON(t *testing.T) {
	for _, v := range []Value{
		{},
		val("a"), val(""), val("1e-4"), val("true"), val(true), val(false), val(1), val(0.1), num(t, "9007199254740993"),
		val("\"quoted\"\n<b>&"), val("日本"),
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back Value
		if err := json.Unmarshal(b, &back); err != nil || back != v {
			t.Errorf("%#v is %s and comes back as %#v, %v", v, b, back, err)
		}
	}
	for _, bad := range []string{"[1]", "{}", "1e400"} {
		var v Value
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is the value %v", bad, v)
		}
	}
}

func TestFloatsAndLiteralsOfOneNumberAreOneValue(t *testing.T) {
	for _, f := range []float64{1e23, 1e15, 9007199254740992, 0.1, 0, 5e-324, math.MaxFloat64} {
		if v := num(t, strconv.FormatFloat(f, 'g', -1, 64)); v != FloatValue(f) {
			t.Errorf("%g is %s and %s", f, v, FloatValue(f))
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("nan is a value")
		}
	}()
	FloatValue(math.NaN())
}

func TestAReaderCanTellStringsFromOtherValues(t *testing.T) {
	ps := params("lr", 0.1, "name", "a b", "flag", true, "text", "true", "digits", "1e-4", "empty", "", "model", "meta-llama/Llama-3")
	want := `lr=0.1 name="a b" flag=true text="true" digits="1e-4" empty="" model=meta-llama/Llama-3`
	if got := ps.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParamsKeepTheirOrderInJSON(t *testing.T) {
	ps := params("z", 1, "a", "x", "m", num(t, "9007199254740993"), "b", false)
	b, err := json.Marshal(ps)
	if err != nil || string(b) != `{"z":1,"a":"x","m":9007199254740993,"b":false}` {
		t.Fatalf("%s, %v", b, err)
	}
	var back Params
	if err := json.Unmarshal(b, &back); err != nil || back.String() != ps.String() {
		t.Errorf("%v, %v", back, err)
	}
	for in, want := range map[string]Params{"null": nil, "{}": {}} {
		got := params("old", 1)
		if err := json.Unmarshal([]byte(in), &got); err != nil || len(got) != len(want) || (got == nil) != (want == nil) {
			t.Errorf("%s is %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"[1]", "3", `{"a":[1]}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s are the parameters %v", bad, back)
		}
	}
}

func TestSizesAndDurationsComeBackAsTheyWere(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512 << 20, "1.5GiB": 3 << 29, "80GB": 80e9, "9007199254740993B": 9007199254740993, "0B": 0, "2TiB": 2 << 40} {
		b, err := ParseBytes(text)
		if err != nil || int64(b) != want {
			t.Errorf("%s is %d, %v", text, b, err)
		}
		j, err := json.Marshal(b)
		var back Bytes
		if err != nil || json.Unmarshal(j, &back) != nil || back != b {
			t.Errorf("%s is %s and comes back as %d: %v", text, j, back, err)
		}
	}
	for _, bad := range []string{"", "5", "GB", "-1GB", "5 GB x", "9999999999TiB", "1.5gb"} {
		if b, err := ParseBytes(bad); err == nil {
			t.Errorf("%q is %d bytes", bad, b)
		}
	}
	for b, want := range map[Bytes]string{512 << 20: "512MiB", 3 << 29: "1.5GiB", 1000: "1000B", 5 << 40: "5TiB", 5000 << 40: "5000TiB"} {
		if b.String() != want {
			t.Errorf("%d bytes read %s, want %s", b, b, want)
		}
	}
	for _, text := range []string{"6h", "1h30m", "90s", "10m", "500ms", "1h0m5s", "0s"} {
		var d, back Duration
		if err := json.Unmarshal([]byte(`"`+text+`"`), &d); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(d)
		if err != nil || json.Unmarshal(j, &back) != nil || back != d {
			t.Errorf("%s is %s and comes back as %s: %v", text, j, back, err)
		}
	}
	var d Duration
	if err := json.Unmarshal([]byte(`"6h"`), &d); err != nil || d.String() != "6h" {
		t.Errorf("6h reads %s, %v", d, err)
	}
	if err := json.Unmarshal([]byte(`5`), &d); err == nil {
		t.Error("5 is a duration")
	}
}
