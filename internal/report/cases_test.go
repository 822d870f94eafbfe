package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/report"
)

// C41, alteryx/evalml#1100 and #1449: a difference is told in the objective's direction and in its unit, never as a part of a
// baseline that is zero or below.
func TestADifferenceSaysBetterOrWorseAndNoPercent(t *testing.T) {
	for _, c := range []struct {
		direction string
		was, is   float64
		want      string
	}{
		{"maximize", -10, -9, "better by 1.000"},
		{"minimize", -10, -9, "worse by 1.000"},
		{"maximize", -100, -110, "worse by 10.000"},
		{"minimize", -100, -110, "better by 10.000"},
		{"maximize", 0, 12, "better by 12.000"},
		{"minimize", 0, 12, "worse by 12.000"},
		{"maximize", 3, 0, "worse by 3.000"},
		{"minimize", 3, 0, "better by 3.000"},
	} {
		then := newRun("20260101-aaaa").sweep("x", 4, c.direction+" v", "lr=0.1")
		now := newRun("20260102-aaaa").sweep("x", 4, c.direction+" v", "lr=0.1")
		for seed := range 4 {
			noise := 0.01 * float64(seed)
			then.ok("x", fmt.Sprintf("lr=0.1 seed=%d", seed), c.was+noise)
			now.ok("x", fmt.Sprintf("lr=0.1 seed=%d", seed), c.is+noise)
		}
		md := string(report.Fold(now.events).Report(report.Options{Previous: report.Fold(then.events)}).Markdown())
		_, md, _ = strings.Cut(md, "Since the run before")
		md, _, _ = strings.Cut(md, "\n## ")
		if !strings.Contains(md, c.want+",") || strings.Contains(md, "%") {
			t.Errorf("%s %v to %v:\n%s", c.direction, c.was, c.is, md)
		}
	}
}

// C41: what is tiny is told in digits that mean something, and not as 0.00.
func TestATinyDifferenceIsNotShownAsNone(t *testing.T) {
	then := newRun("20260101-aaaa").sweep("x", 4, "maximize v", "lr=0.1")
	now := newRun("20260102-aaaa").sweep("x", 4, "maximize v", "lr=0.1")
	for seed := range 4 {
		then.ok("x", fmt.Sprintf("lr=0.1 seed=%d", seed), 1e-12+float64(seed)*1e-15)
		now.ok("x", fmt.Sprintf("lr=0.1 seed=%d", seed), 2e-12+float64(seed)*1e-15)
	}
	md := string(report.Fold(now.events).Report(report.Options{Previous: report.Fold(then.events)}).Markdown())
	if !strings.Contains(md, "better by 1.000") || !strings.Contains(md, "e-12") {
		t.Error(md)
	}
}
