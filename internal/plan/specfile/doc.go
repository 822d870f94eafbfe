// Package specfile reads CUE packages into a plan.Spec, and places every problem at the user's line and column. It is
// the one importer of cuelang.org/go.
package specfile
