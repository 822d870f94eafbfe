package specfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// manyExperiments is a file of n experiments as teams write them.
func manyExperiments(n int) string {
	var b strings.Builder
	b.WriteString("package exp\n\nimport \"github.com/xrun-dev/xrun/schema\"\n\n")
	for i := range n {
		fmt.Fprintf(&b, `experiments: "e-%d": schema.#Experiment & {
	command: ["python", "train.py", "--lr={lr}", "--batch={batch}", "--seed={seed}"]
	objective: {metric: "loss", direction: "minimize"}
	sweep: grid: {lr: [1e-2, 1e-3, 1e-4], batch: [32, 64]}
	seeds: 3
	needs: gpus: 1
	limits: trial: "2h"
}
`, i)
	}
	return b.String()
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "exp.cue"), []byte(manyExperiments(n)), 0o644); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := specfile.Load(b.Context(), specfile.Options{Dir: dir})
				if err != nil || len(s.Experiments) != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/experiment")
		})
	}
}

// BenchmarkLoadPackages loads as many packages as a large repository has, one experiment in each.
func BenchmarkLoadPackages(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		sub := filepath.Join(dir, fmt.Sprintf("p%d", i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		text := strings.ReplaceAll(manyExperiments(1), `"e-0"`, fmt.Sprintf(`"e-%d"`, i))
		if err := os.WriteFile(filepath.Join(sub, "exp.cue"), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := specfile.Load(b.Context(), specfile.Options{Dir: dir, Paths: []string{"./..."}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadBad is the time to find a thousand problems.
func BenchmarkLoadBad(b *testing.B) {
	dir := b.TempDir()
	text := strings.ReplaceAll(manyExperiments(1000), "needs: gpus: 1", "needs: gups: 1")
	if err := os.WriteFile(filepath.Join(dir, "exp.cue"), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := specfile.Load(b.Context(), specfile.Options{Dir: dir}); err == nil {
			b.Fatal("no problems")
		}
	}
}
