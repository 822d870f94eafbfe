package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/plan"
)

// secretPatience bounds a command that gives a secret: it may not wait for somebody to type a password.
const secretPatience = 30 * time.Second

// secrets finds the values of the secrets of the experiments, once for each. They are kept in memory only.
func secrets(ctx context.Context, experiments []plan.Experiment) (map[string]engine.Secrets, error) {
	out := map[string]engine.Secrets{}
	known := map[string]string{}
	for i := range experiments {
		e := &experiments[i]
		s := engine.Secrets{}
		var err error
		if s.Command, err = secretValues(ctx, e, e.Secrets, known); err != nil {
			return nil, err
		}
		if e.Evaluate != nil {
			if s.Evaluate, err = secretValues(ctx, e, e.Evaluate.Secrets, known); err != nil {
				return nil, err
			}
		}
		if len(s.Command)+len(s.Evaluate) > 0 {
			out[e.Name] = s
		}
	}
	return out, nil
}

func secretValues(ctx context.Context, e *plan.Experiment, from map[string]plan.Secret, known map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range sortedKeys(from) {
		s := from[name]
		key := fmt.Sprintf("%q", []any{e.Dir, s})
		value, ok := known[key]
		if !ok {
			var err error
			if value, err = secretValue(ctx, e.Dir, s); err != nil {
				return nil, &cliError{
					code: exitError, kind: "secret", msg: fmt.Sprintf("secret %s of experiment %s: %v", name, e.Name, err),
					hint: "nothing was started; cron has an environment of its own",
				}
			}
			known[key] = value
		}
		out[name] = value
	}
	return out, nil
}

func secretValue(ctx context.Context, dir string, s plan.Secret) (string, error) {
	var value string
	switch s.From {
	case "env":
		v, ok := os.LookupEnv(s.Name)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", s.Name)
		}
		value = v
	case "file":
		b, err := os.ReadFile(secretPath(dir, s.Path))
		if err != nil {
			return "", err
		}
		value = oneLine(b)
	default:
		b, err := secretCommand(ctx, dir, s.Command)
		if err != nil {
			return "", err
		}
		value = oneLine(b)
	}
	switch {
	case value == "":
		return "", errors.New("it is empty")
	case strings.ContainsRune(value, 0):
		return "", errors.New("it holds a NUL byte, which no variable can")
	}
	return value, nil
}

// hidden returns what takes the secrets of a run out of what comes home, known by experiment, and those of every run that
// left attempts behind: whoever settles these brings their logs home.
func (s *session) hidden(ctx context.Context, known map[string]engine.Secrets) (*engine.Redactor, error) {
	open, err := s.ledger.OpenAttempts(ctx)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(known)
	if all == nil {
		all = map[string]engine.Secrets{}
	}
	left := map[string]bool{}
	for _, o := range open {
		left[o.Run] = true
	}
	for _, run := range sortedKeys(left) {
		experiments, err := beganWith(s.state, run)
		if err != nil {
			// What finished counts all the same, and a new run must be possible without those files.
			s.app.log.Warn("the secrets of an earlier run are not known", "run", run, "error", err)
			continue
		}
		values, err := secrets(ctx, experiments)
		if e, ok := errors.AsType[*cliError](err); ok {
			e.hint = fmt.Sprintf("run %s left an attempt whose log comes home now, without this secret; if there is no such secret any more, set it to any value", run)
		}
		if err != nil {
			return nil, err
		}
		for name, v := range values {
			all[run+"/"+name] = v
		}
	}
	return engine.NewRedactor(all), nil
}

// beganWith reads the experiments that a run began with.
func beganWith(state, run string) ([]plan.Experiment, error) {
	var st stored
	b, err := os.ReadFile(storedPath(state, run))
	if err == nil {
		err = json.Unmarshal(b, &st)
	}
	if err == nil && st.Spec == nil {
		err = errors.New("it is not whole")
	}
	if err != nil {
		return nil, err
	}
	for i := range st.Spec.Experiments {
		st.Spec.Experiments[i].Dir = st.Dirs[st.Spec.Experiments[i].Name]
	}
	return st.Spec.Experiments, nil
}

// secretPath is seen from the experiment's package, or from the home directory.
func secretPath(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// secretCommand runs a command for what it prints. Neither that nor what it says of an error is shown.
func secretCommand(ctx context.Context, dir string, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, secretPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s takes longer than %v", argv[0], secretPatience)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return out, nil
}

// oneLine is a value without the newline at its end.
func oneLine(b []byte) string { return string(bytes.TrimRight(b, "\r\n")) }
