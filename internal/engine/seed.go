package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Seed draws the seed of a loop's trial, from 0 to 2^31-1: the same for the same arguments, so that a resumed run draws
// what it drew before, and fresh for every other.
func Seed(run, experiment, phase string, iteration, k int) int64 {
	h := sha256.New()
	for _, s := range []string{run, experiment, phase, fmt.Sprint(iteration), fmt.Sprint(k)} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return int64(binary.BigEndian.Uint32(h.Sum(nil)) >> 1)
}
