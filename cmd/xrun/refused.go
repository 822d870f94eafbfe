package main

import (
	"context"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/hosts"
)

// A refusedHost could not be opened: it has no capacity, and says why. The other hosts of the run go on.
type refusedHost struct{ err error }

var _ engine.Host = refusedHost{}

// Capacity implements engine.Runner, as do the next four.
func (h refusedHost) Capacity(context.Context) (hosts.Capacity, error) {
	return hosts.Capacity{}, h.err
}

// Start starts nothing.
func (h refusedHost) Start(_ context.Context, jobs []hosts.Job) []error {
	errs := make([]error, len(jobs))
	for i := range errs {
		errs[i] = h.err
	}
	return errs
}

// Watch cannot tell.
func (h refusedHost) Watch(context.Context, string, hosts.Observer) (hosts.Exit, error) {
	return hosts.Exit{}, h.err
}

// Stop ends nothing.
func (h refusedHost) Stop(context.Context, string, string) error { return h.err }

// Withdraw takes nothing back.
func (h refusedHost) Withdraw(context.Context, string, string) (bool, error) { return false, h.err }

// Place implements engine.Files, as do the next two.
func (h refusedHost) Place(context.Context, string) (hosts.Place, error) {
	return hosts.Place{}, h.err
}

// Fetch brings nothing.
func (h refusedHost) Fetch(context.Context, string, string, hosts.Want) (hosts.Brought, error) {
	return hosts.Brought{}, h.err
}

// Discard deletes nothing.
func (h refusedHost) Discard(string) {}
