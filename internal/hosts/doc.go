// Package hosts runs attempts on machines. One protocol serves all kinds: a job directory on the host with a small
// supervisor that owns it, so that what happened can be read from files whoever started it, whoever is still there.
// It knows nothing of experiments, metrics or ledgers.
package hosts
