// Package report tells people and programs what a run found. Everything it says is folded from ledger events, live or
// replayed, by the same code: it reads no clock, opens no connection, and the same events give the same bytes.
package report
