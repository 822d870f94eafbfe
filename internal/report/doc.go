// Package report tells people and programs what a run found. Everything it says is folded from ledger events, live or
// replayed, by the same code: it reads no clock, opens no connection, and the same events give the same bytes.
//
// A State holds what the events of one run say; Live follows it on a terminal, (*State).Report makes a Report of it, and
// a Report is written as report.json or as report.md.
package report
