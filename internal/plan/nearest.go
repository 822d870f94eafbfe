package plan

// Nearest is the candidate that s is most likely a misspelling of, or "".
func Nearest(s string, candidates []string) string {
	best, least := "", 2+len(s)/3
	for _, c := range candidates {
		if d := distance(s, c); d < least && d < len(s) {
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
