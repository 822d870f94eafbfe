package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// trialJSON is a trial in plan.json.
type trialJSON struct {
	ID      string   `json:"id"`
	Params  Params   `json:"params"`
	Seed    int64    `json:"seed"`
	Command []string `json:"command"`
	Why     Why      `json:"why"`
	Changed []string `json:"changed"`
	EstS    *float64 `json:"est_s"`
	Code    string   `json:"code"`
}

// MarshalJSON writes what plan.json has of a trial.
func (t *Trial) MarshalJSON() ([]byte, error) {
	return marshal(trialJSON{t.ID, t.Params, t.Seed, t.Command(), t.Why, t.Changed, t.EstS, t.Code})
}

// UnmarshalJSON reads what MarshalJSON wrote. Parts do not come back.
func (t *Trial) UnmarshalJSON(b []byte) error {
	var j trialJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*t = Trial{ID: j.ID, Params: j.Params, Seed: j.Seed, Why: j.Why, Changed: j.Changed, EstS: j.EstS, Code: j.Code, argv: j.Command}
	return nil
}

// A Writer writes JSON that holds a plan, trial by trial: the text of a hundred thousand of them need never be in memory
// at once. The bytes are those of encoding/json with an indent of two spaces, and end in a newline.
type Writer struct {
	// Depth is how deep the plan lies in what is written; 0: it is that.
	Depth int
}

// Write writes what wrap makes of p. wrap is given p without its trials; they are put back where their list stands.
func (o Writer) Write(w io.Writer, p *Plan, wrap func(*Plan) any) error {
	shell := *p
	shell.Experiments = make([]PlannedExperiment, len(p.Experiments))
	for i := range p.Experiments {
		shell.Experiments[i] = p.Experiments[i]
		shell.Experiments[i].Trials = shell.Experiments[i].Trials[:0]
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(wrap(&shell)); err != nil {
		return err
	}
	// No string has a newline in it, and at this depth only experiments have trials.
	indent := strings.Repeat("  ", o.Depth+3)
	list := []byte("\n" + indent + `"trials": [`)
	rest := text.Bytes()
	for i := range p.Experiments {
		trials := p.Experiments[i].Trials
		if trials == nil {
			continue
		}
		at := bytes.Index(rest, list)
		if at < 0 {
			return fmt.Errorf("write plan: experiment %s is not where it should be", p.Experiments[i].Name)
		}
		at += len(list)
		if _, err := w.Write(rest[:at]); err != nil {
			return err
		}
		rest = rest[at:]
		if err := o.trials(w, trials, indent); err != nil {
			return err
		}
	}
	_, err := w.Write(rest)
	return err
}

// trials writes what stands between the brackets of a list of trials.
func (o Writer) trials(w io.Writer, trials []Trial, indent string) error {
	if len(trials) == 0 {
		return nil
	}
	const enough = 1 << 16
	b := make([]byte, 0, enough+1<<12)
	inner := "\n" + indent + "  "
	for i := range trials {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, inner...)
		b = o.appendTrial(b, &trials[i], inner)
		if len(b) > enough {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(append(append(b, '\n'), indent...))
	return err
}

// appendTrial writes one trial by hand: encoding/json would indent what it has written in a second pass.
func (o Writer) appendTrial(b []byte, t *Trial, line string) []byte {
	field := func(name string) {
		b = append(append(append(b, line...), `  "`...), name...)
		b = append(b, `": `...)
	}
	b = append(b, '{')
	field("id")
	b = append(o.appendString(b, t.ID), ',')
	field("params")
	b = append(o.appendParams(b, t.Params, line), ',')
	field("seed")
	b = append(strconv.AppendInt(b, t.Seed, 10), ',')
	field("command")
	b = append(o.appendList(b, t.Command(), line), ',')
	field("why")
	b = append(o.appendString(b, string(t.Why)), ',')
	field("changed")
	b = append(o.appendList(b, t.Changed, line), ',')
	field("est_s")
	b = append(append(b, mustMarshal(t.EstS)...), ',')
	field("code")
	b = o.appendString(b, t.Code)
	return append(append(b, line...), '}')
}

func (o Writer) appendParams(b []byte, ps Params, line string) []byte {
	b = append(b, '{')
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, line...), "    "...)
		b = append(o.appendString(b, p.Name), ": "...)
		switch p.Value.kind {
		case String:
			b = o.appendString(b, p.Value.text)
		case None:
			b = append(b, "null"...)
		default:
			b = append(b, p.Value.text...)
		}
	}
	if len(ps) > 0 {
		b = append(append(b, line...), "  "...)
	}
	return append(b, '}')
}

func (o Writer) appendList(b []byte, list []string, line string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, line...), "    "...)
		b = o.appendString(b, s)
	}
	if len(list) > 0 {
		b = append(append(b, line...), "  "...)
	}
	return append(b, ']')
}

// appendString leaves all but plain text to encoding/json.
func (o Writer) appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == 0x7f || strings.IndexByte(`"\<>&`, c) >= 0 {
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(s); err != nil {
				panic("plan: " + err.Error()) // a string always encodes
			}
			return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
