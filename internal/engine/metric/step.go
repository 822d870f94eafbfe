package metric

import "bytes"

// steps are the values of step and epoch on one line.
type steps struct {
	own, last       float64 // own: the first step, else the first epoch
	hasOwn, hasLast bool
	epoch           bool // own is an epoch
}

// scanSteps finds step and epoch in a line. Both names hold a single p.
func scanSteps(b []byte) steps {
	var s steps
	for i, c := range b {
		if c|0x20 != 'p' {
			continue
		}
		isEpoch := stepName(b, i-1) == len("epoch")
		at := i - 1
		if !isEpoch {
			at = i - 3
		}
		v, ok := stepAt(b, at)
		if !ok {
			continue
		}
		s.last, s.hasLast = v, true
		if !s.hasOwn || s.epoch && !isEpoch {
			s.own, s.hasOwn, s.epoch = v, true, isEpoch
		}
	}
	return s
}

// stepName returns the length of the name step or epoch at b[at], or 0.
func stepName(b []byte, at int) int {
	if at < 0 {
		return 0
	}
	if at+5 <= len(b) {
		switch string(b[at : at+5]) {
		case "epoch", "Epoch", "EPOCH":
			return 5
		}
	}
	if at+4 <= len(b) {
		switch string(b[at : at+4]) {
		case "step", "Step", "STEP":
			return 4
		}
	}
	return 0
}

// stepAt reads the number that follows a step or epoch at b[at]: step=7, "epoch": 3, Epoch [3/10], step 100. It does
// not look beyond the line.
func stepAt(b []byte, at int) (float64, bool) {
	n := stepName(b, at)
	if n == 0 || !wholeName(b, at, at+n) {
		return 0, false
	}
	i := at + n
	if i < len(b) && (b[i] == '"' || b[i] == '\'') && at > 0 && b[at-1] == b[i] {
		i++
	}
	i = skipBlanks(b, i)
	if i < len(b) && (b[i] == ':' || b[i] == '=') {
		i = skipBlanks(b, i+1)
	}
	if i < len(b) && (b[i] == '[' || b[i] == '#' || b[i] == '"' || b[i] == '\'') {
		i = skipBlanks(b, i+1)
	}
	end := i
	for end < len(b) && (isDigit(b[end]) || bytes.IndexByte([]byte("+-.eE"), b[end]) >= 0) {
		end++
	}
	if end == i || !stepEnds(b, end) {
		return 0, false
	}
	v, k := parseNumber(string(b[i:end]))
	return v, k == number
}

// stepEnds reports whether a number that stops at b[i] is whole; 3/10 and "Epoch 3:" are common.
func stepEnds(b []byte, i int) bool {
	return atTokenEnd(b, i) || b[i] == '/' || b[i] == ':' && atTokenEnd(b, i+1)
}

// findStep notes the last step or epoch in b, which is one or more lines. It looks from the end, in growing blocks:
// where steps are printed the last one is near.
func (x *Extractor) findStep(b []byte) {
	for size, high := 1<<10, len(b); high > 0; size *= 4 {
		low := max(0, high-size)
		at := -1
		for _, p := range []byte{'p', 'P'} {
			for i := low; i < min(len(b), high+3); {
				k := bytes.IndexByte(b[i:min(len(b), high+3)], p)
				if k < 0 {
					break
				}
				i += k + 1
				for _, start := range [2]int{i - 2, i - 4} { // epoch, step
					if low <= start && start < high && start > at && stepName(b, start) > 0 {
						if _, ok := stepAt(b, start); ok {
							at = start
						}
					}
				}
			}
		}
		if at >= 0 {
			v, _ := stepAt(b, at)
			x.setStep(v)
			return
		}
		high = low
	}
}

func (x *Extractor) setStep(v float64) {
	if x.lastStep == nil || *x.lastStep != v {
		x.lastStep = &v // readings keep the old one
	}
}
