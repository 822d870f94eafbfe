// Package metric reads numbers out of what programs print: bytes in, numbers out. It is pure: it opens nothing, keeps
// a bounded amount of memory however long the log or a line of it is, and never returns a part of a number.
package metric
