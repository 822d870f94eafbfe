package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Kind says what a Value is.
type Kind uint8

// The kinds of a Value. The zero Kind marks the zero Value, which is no value.
const (
	None Kind = iota
	String
	Number
	Bool
)

// A Value is one value of one parameter, in canonical form: values that are the same value are ==, however they were
// spelled. 0.1, 0.10 and 1e-1 are one Value, and so are 1 and 1.0; integers of any size are exact.
type Value struct {
	kind Kind
	text string
}

// StringValue returns s as a Value.
func StringValue(s string) Value { return Value{String, s} }

// BoolValue returns b as a Value.
func BoolValue(b bool) Value { return Value{Bool, strconv.FormatBool(b)} }

// IntValue returns n as a Value.
func IntValue(n int64) Value { return Value{Number, strconv.FormatInt(n, 10)} }

// FloatValue returns f as a Value. It panics if f is not finite: nothing in a spec can be.
func FloatValue(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic("plan: a value is finite")
	}
	v, err := NumberValue(strconv.FormatFloat(f, 'e', -1, 64))
	if err != nil {
		panic("plan: " + err.Error()) // a float64 is in the range of float64
	}
	return v
}

// NumberValue returns the number that text spells (a decimal literal of CUE or JSON, without separators) in canonical
// form: whole numbers in digits, exactly; others rounded to the nearest float64 and in the shortest decimal form that
// reads back the same, with an exponent below 0.0001 (1e-05). A number that no float64 can hold is an error.
func NumberValue(text string) (Value, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	exp := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return Value{}, fmt.Errorf("%s is not a number", text)
		}
		exp = n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, fmt.Errorf("%s is not a number", text)
	}
	sign, digits := "", strings.TrimPrefix(mantissa, "+")
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = "-", rest
	}
	whole, frac, _ := strings.Cut(digits, ".")
	if strings.Trim(whole+frac, "0123456789") != "" || whole+frac == "" {
		return Value{}, fmt.Errorf("%s is not a number", text)
	}
	if math.IsInf(f, 0) {
		return Value{}, fmt.Errorf("%s is out of range", text)
	}
	// Move the point by the exponent; what remains behind it decides whether the number is whole.
	frac = strings.TrimRight(frac, "0")
	if strings.Trim(whole+frac, "0") == "" {
		return Value{Number, "0"}, nil
	}
	if shift := exp - len(frac); shift >= 0 {
		all := strings.TrimLeft(whole+frac, "0") + strings.Repeat("0", shift)
		return Value{Number, sign + all}, nil
	} else if all := whole + frac; len(all) >= -shift && strings.Trim(all[len(all)+shift:], "0") == "" {
		if n := strings.TrimLeft(all[:len(all)+shift], "0"); n != "" {
			return Value{Number, sign + n}, nil
		}
	}
	if f == 0 {
		return Value{}, fmt.Errorf("%s is out of range: too small to tell from 0", text)
	}
	if f == math.Trunc(f) { // too many digits for a float64: it is whole once rounded
		i, _ := big.NewFloat(f).Int(nil)
		return Value{Number, i.String()}, nil
	}
	return Value{Number, formatFloat(f)}, nil
}

// formatFloat is the form that Python's repr gives to a float that is not whole.
func formatFloat(f float64) string {
	if a := math.Abs(f); a < 1e-4 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Kind reports what v is.
func (v Value) Kind() Kind { return v.kind }

// Text is v as a program gets it: a string as it is, a number in canonical form, true or false.
func (v Value) Text() string { return v.text }

// Float64 is v as a float64; ok is false if v is not a number.
func (v Value) Float64() (f float64, ok bool) {
	if v.kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// String is v as a reader sees it: like Text, strings that could be taken for something else quoted.
func (v Value) String() string {
	if v.kind != String {
		return v.text
	}
	if v.text == "" || v.text == "true" || v.text == "false" || strings.ContainsAny(v.text, "\"\n\r\t,= ") {
		return strconv.Quote(v.text)
	}
	if _, err := strconv.ParseFloat(v.text, 64); err == nil {
		return strconv.Quote(v.text)
	}
	return v.text
}

// MarshalJSON writes numbers digit for digit.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case String:
		return marshal(v.text)
	case Number, Bool:
		return []byte(v.text), nil
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON reads what MarshalJSON wrote, and any other JSON scalar.
func (v *Value) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0 || string(b) == "null":
		*v = Value{}
	case b[0] == '"':
		v.kind = String
		return json.Unmarshal(b, &v.text)
	case string(b) == "true", string(b) == "false":
		*v = Value{Bool, string(b)}
	default:
		n, err := NumberValue(string(b))
		if err != nil {
			return err
		}
		*v = n
	}
	return nil
}

// marshal is json.Marshal without the escapes for HTML, which no reader of ours needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// A Param is one parameter of one point.
type Param struct {
	Name  string
	Value Value
}

// Params are the parameters of one point, in the order in which a reader should see them. In JSON they are an object.
type Params []Param

// Get returns the value of the parameter of that name.
func (ps Params) Get(name string) (Value, bool) {
	for _, p := range ps {
		if p.Name == name {
			return p.Value, true
		}
	}
	return Value{}, false
}

// String is "lr=0.1 batch=32".
func (ps Params) String() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.Name + "=" + p.Value.String())
	}
	return b.String()
}

// MarshalJSON keeps the order.
func (ps Params) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := p.Value.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON keeps the order of the object's members.
func (ps *Params) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		if t == nil {
			*ps = nil
			return err
		}
		return fmt.Errorf("parameters are a JSON object")
	}
	*ps = Params{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var p Param
		p.Name, _ = name.(string)
		if err := d.Decode(&p.Value); err != nil {
			return err
		}
		*ps = append(*ps, p)
	}
	_, err := d.Token()
	return err
}
