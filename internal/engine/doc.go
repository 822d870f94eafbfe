// Package engine runs a plan: it owns the queue and the slots, hands attempts to hosts, reads their metrics, and records
// every fact in the ledger before it acts on it. It never prints, and it owns every goroutine that it starts.
package engine
