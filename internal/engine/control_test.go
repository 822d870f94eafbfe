package engine

import (
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// Between the moment in which a process takes a run up and the one in which it listens it may settle attempts for minutes:
// what is asked of the run meanwhile is not dropped, and nobody is told that it was heard.
func TestARequestThatComesBeforeTheRunListensIsHeard(t *testing.T) {
	dir, log := t.TempDir(), hclog.NewNullLogger()
	old, err := Ask(dir, Request{Reason: "of a process that is gone"})
	if err != nil {
		t.Fatal(err)
	}
	Forget(dir, log)
	if _, err := os.Stat(old); err == nil {
		t.Errorf("%s is still there", old)
	}
	if _, err := Ask(dir, Request{Now: true, Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if q := <-Requests(t.Context(), dir, log); !q.Now || q.Reason != "enough" {
		t.Errorf("%+v", q)
	}
}
