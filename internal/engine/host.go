package engine

import (
	"context"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// A Host takes jobs. All its methods may be called at the same time.
type Host interface {
	Runner
	Files
}

// A Runner starts, follows and stops jobs on one host.
type Runner interface {
	// Capacity asks what the host can take.
	Capacity(context.Context) (hosts.Capacity, error)
	// Start hands jobs over; when it returns, each is queued or running there, or its error is in errs, in order.
	// A job that the host already has is left as it is.
	Start(ctx context.Context, jobs []hosts.Job) (errs []error)
	// Watch follows a job that was handed over, by this process or another, until it ended, and tells o. If ctx ends
	// first, the job goes on and the error is ctx's.
	Watch(ctx context.Context, id string, o hosts.Observer) (hosts.Exit, error)
	// Stop ends a job and everything it started, or takes it out of the host's queue. Watch then returns.
	Stop(ctx context.Context, id, reason string) error
	// Withdraw takes a job out of the host's queue; one that runs, or ran, is left alone: taken is false.
	Withdraw(ctx context.Context, id, reason string) (taken bool, err error)
}

// Files moves a job's files.
type Files interface {
	// Place says where a job lies, or would lie. Each call finds a port.
	Place(ctx context.Context, id string) (hosts.Place, error)
	// Fetch brings the log of an ended job to dir/log and the files that are wanted to dir/artifacts, whole or not at
	// all. What is to be kept, or is above the limit, stays on the host also when the job is discarded.
	Fetch(ctx context.Context, id, dir string, want hosts.Want) (hosts.Brought, error)
	// Discard deletes what is left of an ended job, in the background.
	Discard(id string)
}

// A Recorder stores facts. When Append returns nil they are on disk and every listener has heard them.
type Recorder interface {
	Append(ctx context.Context, events ...ledger.Event) error
}
