package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// WriteEvent writes e as one line of events.jsonl.
func WriteEvent(w io.Writer, e ledger.Event) error {
	line := struct {
		SchemaVersion int `json:"schema_version"`
		ledger.Event
	}{ledger.SchemaVersion, e}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return fmt.Errorf("write event %s: %w", e.Type, err)
	}
	_, err := w.Write(SafeJSON(b.Bytes()))
	return err
}
