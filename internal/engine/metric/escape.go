package metric

import "bytes"

const esc = 0x1b

// stripEscapes appends b without its terminal escapes to dst. Colours vanish; what moves the cursor or erases becomes a
// blank, for what stands on its two sides was not side by side on the screen.
func stripEscapes(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, esc)
		if i < 0 {
			return append(dst, b...)
		}
		dst, b = append(dst, b[:i]...), b[i+1:]
		if len(b) == 0 {
			return dst
		}
		switch c := b[0]; {
		case c == '[':
			var final byte
			if final, b = skipCSI(b[1:]); final != 'm' && final != 0 {
				dst = append(dst, ' ')
			}
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			b = skipString(b[1:])
		case c == '(' || c == ')' || c == '*' || c == '+' || c == '#' || c == '%' || c == ' ':
			b = b[min(2, len(b)):]
		case c >= 0x30 && c < 0x7f:
			b = b[1:]
		}
	}
}

// skipCSI returns the final byte of a control sequence, 0 if it is not complete or not one, and what follows.
func skipCSI(b []byte) (final byte, rest []byte) {
	for i, c := range b {
		switch {
		case c >= 0x40 && c <= 0x7e:
			return c, b[i+1:]
		case c < 0x20 || c > 0x7e:
			return 0, b[i:]
		}
	}
	return 0, nil
}

// skipString returns what follows a string that BEL or ESC \ ends.
func skipString(b []byte) []byte {
	for i, c := range b {
		switch {
		case c == 0x07:
			return b[i+1:]
		case c == esc:
			if i+1 < len(b) && b[i+1] == '\\' {
				return b[i+2:]
			}
			return b[i:]
		}
	}
	return nil
}
