package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The steps of a job beside its command. Each has a script of its name in the job directory, its environment in a file
// that is gone when the job starts, and a log.
const (
	stepCommand  = "command" // no step beside itself: only in lists of all of them
	stepSetup    = "setup"
	stepEvaluate = "evaluate"
	envSuffix    = ".env"
	logSuffix    = ".log"
	doneSuffix   = ".done"
	dirEvaluates = "evaluations"
)

// checkSteps refuses what cannot be run.
func checkSteps(j *Job) error {
	if s := j.Setup; s != nil {
		if err := errors.Join(validID(s.Key), checkArgv(s.Argv)); err != nil {
			return fmt.Errorf("setup: %w", err)
		}
	}
	if e := j.Evaluate; e != nil {
		if err := errors.Join(checkArgv(e.Argv), checkTree(e.Tree)); err != nil {
			return fmt.Errorf("evaluate: %w", err)
		}
	}
	return nil
}

// checkCheckpoint refuses a directory that is none of ours: it is to be deleted.
func (l *Local) checkCheckpoint(j *Job) error {
	if j.Limits.Ahead > 0 && signals[j.Limits.Signal] == 0 {
		return fmt.Errorf("there is no signal %q", j.Limits.Signal)
	}
	if j.Checkpoint == "" || filepath.Dir(j.Checkpoint) == filepath.Join(l.home, dirCheckpoints) && validID(filepath.Base(j.Checkpoint)) == nil {
		return nil
	}
	return fmt.Errorf("checkpoint directory %s: not below %s", j.Checkpoint, filepath.Join(l.home, dirCheckpoints))
}

// stageSteps writes what the supervisor needs for the steps of a job, and puts them into its order.
func (l *Local) stageSteps(d jobDir, j *Job, o *order) error {
	if s := j.Setup; s != nil {
		if err := l.stageStep(d, stepSetup, d.file(dirTree), s.Step, j.GPUs != nil); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(l.home, dirSetup), 0o700); err != nil {
			return err
		}
		o.Setup = &setupOrder{Dir: []byte(filepath.Join(l.home, dirSetup, s.Key)), Time: s.Time}
	}
	if e := j.Evaluate; e != nil {
		if err := l.stageStep(d, stepEvaluate, d.file(dirEval), e.Step, j.GPUs != nil); err != nil {
			return err
		}
		file, sum, err := l.keepTree(e.Tree)
		if err != nil {
			return err
		}
		o.Evaluate = &evaluateOrder{Tree: []byte(file), SHA256: sum, Files: e.Files, Time: e.Time}
	}
	return nil
}

// stageStep writes a step's script and what it reads. Where there are GPUs, the supervisor adds to that.
func (l *Local) stageStep(d jobDir, name, dir string, s Step, gpus bool) error {
	env, err := envScript(l.cfg.Env, s.Env)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(env) > 0 {
		if err := writeSmall(d.file(name+envSuffix), env); err != nil {
			return err
		}
	}
	return writeSmall(d.file(name), script(dir, l.id, l.cfg.Prelude, len(env) > 0 || gpus, s.Argv))
}

// keepTree stores the list of files of an evaluation outside of the job, which could change it, and tells its digest,
// which the supervisor is given directly.
func (l *Local) keepTree(t Tree) (file, sum string, err error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", "", err
	}
	digest := sha256.Sum256(b)
	sum = hex.EncodeToString(digest[:])
	dir := filepath.Join(l.home, dirEvaluates)
	file = filepath.Join(dir, sum)
	if have, err := os.ReadFile(file); err == nil && sha256.Sum256(have) == digest {
		return file, sum, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", "", err
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return "", "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return file, sum, nil
}

// untouchedTree reads a list of files that keepTree stored.
func untouchedTree(file, sum string) (Tree, error) {
	var t Tree
	b, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	if digest := sha256.Sum256(b); hex.EncodeToString(digest[:]) != sum {
		return t, fmt.Errorf("%s was changed", file)
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return t, err
	}
	return t, checkTree(t)
}

// verify compares the files of a tree that was just made with their digests.
func verify(dir string, t Tree) error {
	for _, f := range t.Files {
		name := dir + "/" + f.Path
		var b []byte
		var err error
		if f.Mode == "120000" {
			var target string
			target, err = os.Readlink(name)
			b = []byte(target)
		} else {
			b, err = os.ReadFile(name)
		}
		if err != nil {
			return err
		}
		if digest := sha256.Sum256(b); hex.EncodeToString(digest[:]) != f.SHA256 {
			return fmt.Errorf("file %q is not what it was when the run began", f.Path)
		}
	}
	return nil
}

// selected lists the files that globs select below out, else below tree. A directory selects what is in it.
func (d jobDir) selected(globs []string) ([]artifact, error) {
	return d.artifactsOf(func(name string) bool {
		for _, g := range globs {
			if matches(g, name) || matches(g+"/**", name) {
				return true
			}
		}
		return false
	})
}

// artifactsOf lists the regular files and inner links that pick selects: those of out first, then those of the tree
// without a namesake there.
func (d jobDir) artifactsOf(pick func(string) bool) ([]artifact, error) {
	var found []artifact
	have := map[string]bool{}
	for _, root := range []string{d.file(dirOut), d.file(dirTree)} {
		all, err := listArtifacts(root)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			if a.mode.IsDir() || !a.fits || have[a.name] || !pick(a.name) {
				continue
			}
			have[a.name], a.copied = true, true
			found = append(found, a)
		}
	}
	return found, nil
}

// matches reports whether a slash-separated name matches a glob, in which ** is any number of directories.
func matches(glob, name string) bool {
	g, n := strings.Split(glob, "/"), strings.Split(name, "/")
	var rest func(g, n []string) bool
	rest = func(g, n []string) bool {
		switch {
		case len(g) == 0:
			return len(n) == 0
		case g[0] == "**":
			for i := 0; i <= len(n); i++ {
				if rest(g[1:], n[i:]) {
					return true
				}
			}
			return false
		case len(n) == 0:
			return false
		}
		ok, err := path.Match(g[0], n[0])
		return err == nil && ok && rest(g[1:], n[1:])
	}
	return rest(g, n)
}
