package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A scale writes the numbers of one column alike: with as many digits as the noise leaves meaning to.
type scale struct {
	verb byte // f or e, as in strconv; g where digits alone count
	prec int
}

// scaleOf chooses the scale for means with their spreads. Two digits of the usual spread are shown; without a spread,
// six digits of the number.
func scaleOf(means, sds []float64) scale {
	largest := 0.0
	for _, m := range means {
		largest = max(largest, math.Abs(m))
	}
	spreads := slices.DeleteFunc(slices.Sorted(slices.Values(sds)), func(s float64) bool { return !(s > 0) })
	if len(spreads) == 0 {
		return plainScale(means, largest)
	}
	// The digit before which the second digit of the spread stands.
	last := int(math.Floor(math.Log10(spreads[(len(spreads)-1)/2]))) - 1
	first := last + 1
	if largest > 0 {
		first = int(math.Floor(math.Log10(largest)))
	}
	if first >= 7 || first < -4 {
		return scale{'e', min(8, max(1, first-last))}
	}
	return scale{'f', min(10, max(0, -last))}
}

// plainScale shows numbers without noise: as many decimals as the longest of them needs at six digits.
func plainScale(means []float64, largest float64) scale {
	if len(means) > 0 && !slices.ContainsFunc(means, func(m float64) bool { return !whole(m) }) {
		return scale{'f', 0}
	}
	if largest >= 1e7 || largest < 1e-4 {
		return scale{'g', 6}
	}
	decimals := 0
	for _, m := range means {
		s := strconv.FormatFloat(m, 'g', 6, 64)
		if strings.ContainsRune(s, 'e') {
			return scale{'g', 6}
		}
		_, frac, _ := strings.Cut(s, ".")
		decimals = max(decimals, len(frac))
	}
	return scale{'f', decimals}
}

func (s scale) format(f *float64) string {
	if f == nil {
		return ""
	}
	verb := s.verb
	if verb == 0 {
		return short(*f)
	}
	return strconv.FormatFloat(*f, verb, s.prec, 64)
}

// spread writes a standard deviation. One that the scale would show as 0 keeps two digits: 0 means no spread at all.
func (s scale) spread(f *float64) string {
	if f == nil {
		return ""
	}
	if *f == 0 {
		return "0"
	}
	text := s.format(f)
	if strings.Trim(text, "0.") == "" {
		return strconv.FormatFloat(*f, 'g', 2, 64)
	}
	return text
}

// short is a number by itself, to six digits; a count is whole.
func short(f float64) string {
	if whole(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// whole reports whether f is an integer that a person would write in digits.
func whole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1e15 }

// duration is d for people: 850 ms, 12 s, 3 min 05 s, 2 h 10 min, 3 d 4 h.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch s := int(math.Round(seconds)); {
	case seconds <= 0:
		return "0 s"
	case seconds < 0.9995:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case seconds < 9.95:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", seconds), ".0") + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return strings.TrimSuffix(fmt.Sprintf("%d min %02d s", s/60, s%60), " 00 s")
	case s < 48*3600:
		return strings.TrimSuffix(fmt.Sprintf("%d h %02d min", s/3600, s%3600/60), " 00 min")
	default:
		return strings.TrimSuffix(fmt.Sprintf("%d d %d h", s/86400, s%86400/3600), " 0 h")
	}
}

// count is "1 trial", "2 trials".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list is "a, b and c"; beyond most, the rest is counted: "a, b and 3 more".
func list(words []string, most int) string {
	if len(words) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// short3 is f with three significant digits, for a text.
func short3(f float64) string {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', 2, 64), 64)
	if err != nil {
		return short(f)
	}
	return short(r)
}
