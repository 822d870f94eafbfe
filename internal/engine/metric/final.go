package metric

import "math"

// FinalResults is the summary that a benchmark of several methods prints: FINAL_RESULTS: {…}.
type FinalResults struct {
	PrimaryMetric   string
	CandidateMethod string
	BestMethod      string
	// PerMethod are the numbers of each method by metric; nan and inf are kept.
	PerMethod map[string]map[string]float64
	// SeedResults are the rows as they were printed: string, float64, bool, nil, []any and map[string]any.
	SeedResults []map[string]any
	NumSeeds    int
}

// isSummary reports whether an object is a summary also where FINAL_RESULTS: is missing.
func isSummary(n node) bool {
	methods, _ := n.get("per_method")
	seeds, _ := n.get("seed_results")
	return methods.kind == dict || seeds.kind == list || n.string("best_method") != ""
}

// benchmark keeps a summary, and reads the primary metric of the candidate, or else of the best method, out of it.
func (x *Extractor) benchmark(n node) {
	f := &FinalResults{
		PrimaryMetric:   n.string("primary_metric"),
		CandidateMethod: n.string("candidate_method"),
		BestMethod:      n.string("best_method"),
		PerMethod:       map[string]map[string]float64{},
	}
	if f.PrimaryMetric == "" {
		f.PrimaryMetric = n.string("metric_name")
	}
	if seeds, ok := n.get("seed_results"); ok {
		for _, row := range seeds.list {
			if m, ok := row.any().(map[string]any); ok && seeds.kind == list {
				f.SeedResults = append(f.SeedResults, m)
			}
		}
	}
	f.NumSeeds = len(f.SeedResults)
	if v, ok := n.get("num_seeds"); ok {
		if c, k := parseNumber(v.text); k == number && c == math.Trunc(c) && c >= 0 && c < 1e9 {
			f.NumSeeds = int(c)
		}
	}
	methods, _ := n.get("per_method")
	for i, method := range methods.keys {
		row := map[string]float64{}
		for j, metric := range methods.list[i].keys {
			if v, k := parseNumber(methods.list[i].list[j].text); k == number || k == odd {
				row[metric] = v
			}
		}
		f.PerMethod[method] = row
	}
	x.final = f
	method := f.CandidateMethod
	if method == "" {
		method = f.BestMethod
	}
	row, _ := methods.get(method)
	v, ok := row.get(f.PrimaryMetric)
	if !ok {
		v, ok = row.get("metric_value")
	}
	if ok && f.PrimaryMetric != "" && (v.kind == leaf || v.kind == str) {
		x.leaf(f.PrimaryMetric, v)
	}
}

func (n node) string(key string) string {
	if v, ok := n.get(key); ok && v.kind == str {
		return v.text
	}
	return ""
}

// any returns a node as encoding/json would.
func (n node) any() any {
	switch n.kind {
	case str:
		return n.text
	case dict:
		m := map[string]any{}
		for i, k := range n.keys {
			m[k] = n.list[i].any()
		}
		return m
	case list:
		out := []any{}
		for _, v := range n.list {
			out = append(out, v.any())
		}
		return out
	}
	switch n.text {
	case "true", "True":
		return true
	case "false", "False":
		return false
	case "null", "None":
		return nil
	}
	if v, k := parseNumber(n.text); k == number || k == odd {
		return v
	}
	return n.text
}
