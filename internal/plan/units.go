package plan

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// A Duration is a time.Duration that reads and writes CUE's form, "1h30m".
type Duration time.Duration

// String is the shortest form: "6h", not "6h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Seconds is d in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalJSON writes the form of String.
func (d Duration) MarshalJSON() ([]byte, error) { return marshal(d.String()) }

// UnmarshalJSON reads what time.ParseDuration reads.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t, err := time.ParseDuration(s)
	*d = Duration(t)
	return err
}

// Bytes is a size: "80GB" and "512MiB" in JSON and CUE.
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// ParseBytes reads a size such as "1.5GiB".
func ParseBytes(s string) (Bytes, error) {
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			r, ok := new(big.Rat).SetString(n)
			if !ok || r.Sign() < 0 {
				break
			}
			r.Mul(r, new(big.Rat).SetInt64(u.size))
			n := new(big.Int).Quo(r.Num(), r.Denom())
			if !n.IsInt64() {
				return 0, fmt.Errorf("%s is too large", s)
			}
			return Bytes(n.Int64()), nil
		}
	}
	return 0, fmt.Errorf("%q is not a size like \"512MiB\"", s)
}

// String is the size in the largest binary unit that it is at least one of: "1.5GiB".
func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if next := u.size << 10; int64(b) >= u.size && (int64(b) < next || u.name == "TiB") {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(b)/float64(u.size)), ".0") + u.name
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}

// MarshalJSON writes the exact number of bytes with the unit B, so that nothing is lost.
func (b Bytes) MarshalJSON() ([]byte, error) { return marshal(fmt.Sprintf("%dB", int64(b))) }

// UnmarshalJSON reads what ParseBytes reads.
func (b *Bytes) UnmarshalJSON(p []byte) error {
	var s string
	if err := json.Unmarshal(p, &s); err != nil {
		return err
	}
	n, err := ParseBytes(s)
	*b = n
	return err
}
