package plan

import "strings"

// Nearest is the candidate that s is most likely a misspelling of, or "". Of two that are equally close, the one with the
// same first letter is meant. Case counts for nothing.
func Nearest(s string, candidates []string) string {
	best, least := "", min(2+len(s)/3, len(s))
	lower := strings.ToLower(s)
	for _, c := range candidates {
		d := distance(lower, strings.ToLower(c))
		if c != s && (d < least || d == least && best != "" && best[0] != s[0] && c[:min(1, len(c))] == s[:1]) {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of inserted, deleted, changed and swapped letters (Damerau, restricted to neighbours).
func distance(a, b string) int {
	two, one := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(b)]
}
