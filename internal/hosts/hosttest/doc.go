// Package hosttest checks that something is a host, and offers one that is scripted.
package hosttest

import (
	"context"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// A Host is what the engine asks of a host. The words are the engine's; they stand here again because nobody imports it.
type Host interface {
	Capacity(context.Context) (hosts.Capacity, error)
	Start(ctx context.Context, jobs []hosts.Job) (errs []error)
	Watch(ctx context.Context, id string, o hosts.Observer) (hosts.Exit, error)
	Stop(ctx context.Context, id, reason string) error
	Withdraw(ctx context.Context, id, reason string) (taken bool, err error)
	Place(ctx context.Context, id string) (hosts.Place, error)
	Fetch(ctx context.Context, id, dir string, want hosts.Want) (hosts.Brought, error)
	Discard(id string)
}

var (
	_ Host = (*hosts.Local)(nil)
	_ Host = (*Fake)(nil)
)
