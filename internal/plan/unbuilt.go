package plan

// Unbuilt lists what the spec asks for and this version cannot do yet. Such a spec is checked and planned, and refused
// by a run before anything starts: a promise that is kept half would be worse than none.
func Unbuilt(s *Spec) []Finding {
	u := &checker{spec: s}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		u.at = []string{"experiments", e.Name}
		for _, f := range unbuiltFields(e) {
			if f.asked {
				u.unbuilt(f.path...)
			}
		}
	}
	u.at = nil
	for _, h := range s.Hosts {
		if h.Kind != "local" {
			u.at = []string{"hosts", h.Name}
			u.add([]string{"kind"}, "", "hosts of kind %s are not built yet", h.Kind)
		}
	}
	u.at = []string{"settings"}
	if len(s.Settings.Notify) > 0 {
		u.unbuilt("notify")
	}
	return u.found
}

func (c *checker) unbuilt(path ...string) {
	name := ""
	for _, p := range path {
		name += "." + p
	}
	c.add(path, "", "%s is not built yet", name[1:])
}

type unbuiltField struct {
	asked bool
	path  []string
}

func unbuiltFields(e *Experiment) []unbuiltField {
	fs := []unbuiltField{
		{e.Code.Ref != "", []string{"code", "ref"}},
		{e.Container != nil, []string{"container"}},
		{e.Loop != nil, []string{"loop"}},
		{e.Claim != nil, []string{"claim"}},
		{e.Artifacts.KeepFor != nil, []string{"artifacts", "keep_for"}},
	}
	return fs
}
