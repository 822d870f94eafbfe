package specfile

import (
	"context"
	"errors"

	"github.com/xrun-dev/xrun/internal/plan"
)

// Options say what to load.
type Options struct {
	// Dir is the absolute directory that relative Paths start from.
	Dir string
	// Paths are directories, files or ./...; none is ".".
	Paths []string
	// Tags are CUE tags, "key=value" or "key".
	Tags []string
	// Inventory is the path of further hosts; "" looks in UserConfig.
	Inventory string
	// UserConfig is the user's configuration directory (its xrun/*.cue is the inventory of last resort); "" for none.
	UserConfig string
}

// Problems is the error of a spec that is wrong: every problem of every file, in the order of file, line and column.
type Problems []plan.Problem

// Error is the first problem, and how many more there are.
func (p Problems) Error() string { return "" }

// Load reads, checks and resolves. If the files are wrong the error is Problems; another error means that xrun could
// not do its work. The Spec has its defaults filled in.
func Load(ctx context.Context, o Options) (*plan.Spec, error) { return nil, errors.ErrUnsupported }
