// Package noise answers "is it more than luck?" for numbers that were measured several times: spread, intervals, ranks.
// It is pure, imports nothing of this module, and never divides by a level that may be zero.
package noise
