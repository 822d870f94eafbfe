package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/xrun-dev/xrun/internal/plan"
)

// What does not apply is null, as everywhere in xrun's JSON, and a kept plan is read as it was written.
func TestProblemsWithoutAPlaceHaveNulls(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]plan.Problem{
		`{"file":null,"line":null,"col":null,"path":null,"message":"m","suggestion":null}`: {Message: "m"},
		`{"file":"f","line":1,"col":2,"path":"a.b","message":"m","suggestion":null}`:       {File: "f", Line: 1, Col: 2, Path: "a.b", Message: "m"},
	} {
		b, err := json.Marshal(p)
		if err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
		var back plan.Problem
		if err := json.Unmarshal(b, &back); err != nil || back != p {
			t.Errorf("%s: %+v, %v", b, back, err)
		}
	}
}
