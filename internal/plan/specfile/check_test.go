package specfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// A caller that can read the program drops some warnings by their kind.
func TestWarningsKeepTheKindOfTheirFinding(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec(`experiments: a: schema.#Experiment & {
	command: ["python", "train.py"]
	objective: {metric: "loss", direction: "minimize"}
	seeds: 3
	sweep: grid: lr: [1, 1]
}`))
	s := load(t, specfile.Options{Dir: dir})
	kinds := map[string]int{}
	for _, w := range s.Warnings {
		kinds[w.Kind]++
	}
	if len(s.Warnings) != 3 || kinds[plan.UnusedParams] != 1 || kinds[plan.UnusedSeed] != 1 {
		t.Errorf("warnings: %+v", s.Warnings)
	}
}

// In JSON what does not apply is null.
func TestAProblemWithoutASuggestionHasNone(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec(``))
	if err := os.Symlink(strings.Repeat("x", 300), filepath.Join(dir, "long.cue")); err != nil {
		t.Fatal(err)
	}
	_, err := specfile.Load(t.Context(), specfile.Options{Dir: dir})
	problems, ok := errors.AsType[specfile.Problems](err)
	if !ok || len(problems) != 1 || problems[0].Message != "cannot be read: file name too long" || problems[0].Suggestion != nil {
		t.Errorf("%+v", err)
	}
}
