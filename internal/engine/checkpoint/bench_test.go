package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

// 10,000 files of 4 kB; compare with git add -A and commit in such a repository, about 74 ms.
func BenchmarkScan(b *testing.B) {
	r := newRepo(b)
	for i := range 10_000 {
		r.write(fmt.Sprintf("d%02d/f%04d.py", i%100, i), strings.Repeat(fmt.Sprintln("line", i), 400))
	}
	r.commit()
	b.ReportAllocs()
	for b.Loop() {
		m := r.mustScan(nil)
		if m.Dirty || len(m.Files) != 10_000 {
			b.Fatal(m.Dirty, len(m.Files))
		}
	}
}
