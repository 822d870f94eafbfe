package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// A table is rows of text for a terminal, in aligned columns. Columns whose title begins with a space are aligned right.
type table struct {
	titles []string
	rows   [][]string
}

// add adds a row; cells that are missing are empty. Control characters become visible.
func (t *table) add(cells ...string) {
	row := make([]string, len(t.titles))
	for i := range row {
		if i < len(cells) {
			row[i] = visible(cells[i])
		}
	}
	t.rows = append(t.rows, row)
}

// write prints the titles and the rows, each line after indent and without blanks at its end.
func (t *table) write(w io.Writer, indent string) error {
	widths := make([]int, len(t.titles))
	titles := make([]string, len(t.titles))
	for i, title := range t.titles {
		titles[i] = visible(strings.TrimPrefix(title, " "))
		widths[i] = width(titles[i])
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], width(c))
		}
	}
	for _, row := range append([][]string{titles}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-width(c))
			if strings.HasPrefix(t.titles[i], " ") {
				line.WriteString(pad + c + "  ")
			} else {
				line.WriteString(c + pad + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(indent+line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// wide are the ranges whose characters take two cells of a terminal (East Asian Width W and F, without rare blocks).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0xa4cf, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// width is how many cells of a terminal s takes. s has no control characters.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.Is(wide, r):
			n += 2
		default:
			n++
		}
	}
	return n
}
