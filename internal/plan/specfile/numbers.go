package specfile

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
)

// maxExponent is within what CUE's arithmetic can hold (100,000) and beyond what any value can be.
const maxExponent = 10_000

// numbersOutOfReach reports number literals that CUE misreads without a word: of 1e999999999 it keeps the 1.
func (d *diagnosis) numbersOutOfReach() bool {
	bad := false
	d.eachInstance(func(inst *build.Instance) {
		for _, f := range inst.Files {
			ast.Walk(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.FLOAT && outOfReach(lit.Value) {
					bad = true
					d.problem(lit.Pos(), nil, lit.Value+" is out of range", numberRange)
				}
				return true
			}, nil)
		}
	})
	return bad
}

func outOfReach(literal string) bool {
	_, exponent, ok := strings.Cut(strings.ToLower(literal), "e")
	if !ok {
		return false
	}
	n, err := strconv.Atoi(exponent)
	return err != nil || n > maxExponent || n < -maxExponent
}
