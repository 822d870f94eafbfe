// Package plan turns a resolved Spec into a Plan: the trials to do, in order, each with an identity made of what can
// change its result. It is pure: no files, no clock, no CUE, no processes. The same spec, code and history give the
// same bytes.
package plan
