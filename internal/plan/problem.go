package plan

import "encoding/json"

// A Problem is one thing that is wrong, or (as a warning) dubious, in a spec. Line and Col count from 1; 0 is unknown.
type Problem struct {
	File       string  `json:"file"`
	Line       int     `json:"line"`
	Col        int     `json:"col"`
	Path       string  `json:"path"`
	Message    string  `json:"message"`
	Suggestion *string `json:"suggestion"`
	// Excerpt is the line of the source, without its newline.
	Excerpt string `json:"-"`
	// Kind is that of the Finding.
	Kind string `json:"-"`
}

// MarshalJSON writes null for what is unknown.
func (p Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File       *string `json:"file"`
		Line       *int    `json:"line"`
		Col        *int    `json:"col"`
		Path       *string `json:"path"`
		Message    string  `json:"message"`
		Suggestion *string `json:"suggestion"`
	}{known(p.File), known(p.Line), known(p.Col), known(p.Path), p.Message, p.Suggestion})
}

func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
