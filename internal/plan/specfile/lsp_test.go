package specfile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
	"github.com/xrun-dev/xrun/schema"
)

// An editor is a client of `cue lsp`, speaking as editors do over stdin and stdout.
type editor struct {
	t   *testing.T
	in  io.Writer
	out *textproto.Reader
	id  int
}

// edit starts `cue lsp` in dir, where no registry answers and nothing is cached.
func edit(t *testing.T, dir string) *editor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, self, "lsp")
	c.Dir = dir
	c.Env = append(os.Environ(), asCue+"=1", "CUE_REGISTRY=none", "CUE_CACHE_DIR="+t.TempDir())
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = c.Wait() })
	e := &editor{t: t, in: in, out: textproto.NewReader(bufio.NewReader(out))}
	root := "file://" + (&url.URL{Path: dir}).EscapedPath()
	e.ask("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": root, "workspaceFolders": []any{map[string]any{"uri": root, "name": "x"}}, "capabilities": map[string]any{},
	}, nil)
	e.send(map[string]any{"method": "initialized", "params": map[string]any{}})
	return e
}

func (e *editor) send(message map[string]any) {
	e.t.Helper()
	message["jsonrpc"] = "2.0"
	b, err := json.Marshal(message)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		e.t.Fatal(err)
	}
}

// ask sends a request and decodes the answer; what the server asks meanwhile is answered with nothing.
func (e *editor) ask(method string, params, into any) {
	e.t.Helper()
	e.id++
	e.send(map[string]any{"id": e.id, "method": method, "params": params})
	for {
		header, err := e.out.ReadMIMEHeader()
		if err != nil {
			e.t.Fatalf("%s: %v", method, err)
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			e.t.Fatal(err)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(e.out.R, body); err != nil {
			e.t.Fatal(err)
		}
		var m struct {
			ID     *json.RawMessage
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(body, &m); err != nil {
			e.t.Fatal(err)
		}
		switch {
		case m.Method != "" && m.ID != nil:
			e.send(map[string]any{"id": m.ID, "result": nil})
		case m.ID == nil || string(*m.ID) != strconv.Itoa(e.id):
		case m.Error != nil:
			e.t.Fatalf("%s: %s", method, m.Error.Message)
		case into != nil:
			if err := json.Unmarshal(m.Result, into); err != nil {
				e.t.Fatalf("%s: %v: %s", method, err, m.Result)
			}
			return
		default:
			return
		}
	}
}

// open opens a text as the file name, and returns what requests about the place of a word in it begin with.
func (e *editor) open(name, text string) func(word string, in int) map[string]any {
	uri := "file://" + (&url.URL{Path: name}).EscapedPath()
	e.send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{
		"textDocument": map[string]any{"uri": uri, "languageId": "cue", "version": 1, "text": text},
	}})
	return func(word string, in int) map[string]any {
		before, _, ok := strings.Cut(text, word)
		if !ok {
			e.t.Fatalf("%s has no %s", name, word)
		}
		before += word[:in]
		return map[string]any{
			"textDocument": map[string]any{"uri": uri},
			"position":     map[string]any{"line": strings.Count(before, "\n"), "character": len(before) - 1 - strings.LastIndex(before, "\n")},
		}
	}
}

// In an editor the vendored schema is found: definitions lead to it, and its fields are offered.
func TestEditorsKnowTheSchema(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := specfile.Init(dir); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "experiment.cue")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	e := edit(t, dir)
	// As if someone had begun to type a field.
	text := strings.Replace(string(b), "\tlimits: trial:", "\tneeds: gp\n\tlimits: trial:", 1)
	at := e.open(name, text)

	var places []struct {
		URI   string
		Range struct{ Start struct{ Line int } }
	}
	e.ask("textDocument/definition", at("schema.#Experiment", len("schema.#Exp")), &places)
	want := "cue.mod/pkg/" + schema.Package + "/schema.cue"
	if len(places) != 1 || !strings.HasSuffix(places[0].URI, want) {
		t.Fatalf("the definition of #Experiment is at %+v, want %s", places, want)
	}
	if line := strings.Split(schema.Source, "\n")[places[0].Range.Start.Line]; !strings.HasPrefix(line, "#Experiment:") {
		t.Errorf("the definition of #Experiment leads to the line %q", line)
	}

	for word, offered := range map[string]string{"\tlimits: trial:": "objective", "needs: gp": "gpus"} {
		in := len(word)
		if word[0] == '\t' {
			in = 1 // before the field: any field of an experiment
		}
		var list struct{ Items []struct{ Label string } }
		e.ask("textDocument/completion", at(word, in), &list)
		var labels []string
		for _, item := range list.Items {
			labels = append(labels, strings.TrimRight(item.Label, ":?! "))
		}
		if !slices.Contains(labels, offered) {
			t.Errorf("at %q the editor offers %q and not %s", word, labels, offered)
		}
	}
}
