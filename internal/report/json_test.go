package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/xrun-dev/xrun/internal/report"
)

// What is written one by one is what encoding/json writes of the whole.
func TestReportJSONIsThatOfTheWhole(t *testing.T) {
	two := newRun("20260112-aaaa").sweep("lr", 2, "minimize val_loss", "lr=0.1,0.2").sweep("none", 1, "maximize acc")
	for _, b := range []*builder{single(), good("20260102-aaaa"), failures(), interrupted(), killed(), reused(), nasty(), two, newRun("20260113-aaaa")} {
		r := report.Fold(b.events).Report(report.Options{XrunVersion: "\x7f\u202e \"points\": null,\n"})
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
		if got := r.JSON(); !bytes.Equal(got, report.SafeJSON(want.Bytes())) {
			t.Errorf("%s: %s", b.run, got)
		}
	}
}

// fullDisk takes some bytes and no more.
type fullDisk int

var errFull = errors.New("no space left")

func (d *fullDisk) Write(b []byte) (int, error) {
	if *d -= fullDisk(len(b)); *d < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	r := report.Fold(chaos(1, 3).events).Report(report.Options{})
	for _, room := range []fullDisk{0, 100_000, 1_000_000} {
		if err := r.WriteJSON(&room); !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
	}
}
