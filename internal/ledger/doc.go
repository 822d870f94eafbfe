// Package ledger is the record of what happened: an append-only table of events in SQLite, written by one writer with
// group commit. Everything else (tables to look things up, reports, the live view) is a projection of the events and
// can be made again from them: that is how a ledger of an earlier version is brought up to this one. It knows what an
// event says, not what follows from it.
package ledger
