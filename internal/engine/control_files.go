package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// ControlDir is where other processes leave their requests to the run whose directory is run.
func ControlDir(run string) string { return filepath.Join(run, "control") }

// Ask leaves a request for an active run, whole or not at all, and returns the file: it is gone when the run has heard.
func Ask(run string, q Request) (string, error) {
	dir := ControlDir(run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	b, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", fmt.Errorf("ask the run: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	name := filepath.Join(dir, "stop-"+strings.TrimPrefix(filepath.Base(f.Name()), ".new-")+".json")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return "", fmt.Errorf("ask the run: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return name, nil
}

// controlEvery is how often the run looks for requests.
const controlEvery = 250 * time.Millisecond

// Forget drops what Ask left for the run whose directory is run: the process that it was meant for is gone. It is for who
// takes the run up and has not said so yet; what is asked from then on is for him, long before he listens.
func Forget(run string, log hclog.Logger) {
	for _, name := range requestFiles(ControlDir(run)) {
		log.Debug("an old request is dropped", "file", name, "error", os.Remove(name))
	}
}

// Requests are what Ask leaves for the run whose directory is run, until ctx ends.
func Requests(ctx context.Context, run string, log hclog.Logger) <-chan Request {
	out := make(chan Request)
	dir := ControlDir(run)
	go func() { // ends with ctx
		tick := time.NewTicker(controlEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, name := range requestFiles(dir) {
				q, err := takeRequest(name)
				if err != nil {
					log.Warn("a request cannot be read", "error", err)
					continue
				}
				select {
				case out <- q:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

func requestFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nobody has asked for anything
	}
	var out []string
	for _, e := range entries {
		if n := e.Name(); e.Type().IsRegular() && strings.HasPrefix(n, "stop-") && strings.HasSuffix(n, ".json") {
			out = append(out, filepath.Join(dir, n))
		}
	}
	return out
}

// takeRequest reads a request and removes it: that is how whoever asked knows that it was heard.
func takeRequest(name string) (Request, error) {
	var q Request
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return q, err
	}
	if err == nil {
		err = json.Unmarshal(b, &q)
	}
	return q, errors.Join(err, os.Remove(name))
}
