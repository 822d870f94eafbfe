// Package report tells people and programs what a run found. Everything it says is folded from ledger events, live or
// replayed, by the same code: it reads no clock, opens no connection, and the same events give the same bytes.
//
// A State holds what the events of one run say; Live follows it on a terminal, (*State).Report makes the whole of
// report.json of it, and report.md is a rendering of that and of nothing else.
package report
