package plan

// A Finding is something wrong (or, as a Warning, dubious) at a path of the spec, found by looking across fields.
// Whoever has the source places it.
type Finding struct {
	Path       []string // "experiments", "lr-sweep", "sweep", "zip", "lr"; list elements by index
	Message    string
	Suggestion string // what to do; empty if there is nothing to add
	Warning    bool
}

// Check looks across the fields of a filled Spec.
func Check(s *Spec) []Finding { return nil }
