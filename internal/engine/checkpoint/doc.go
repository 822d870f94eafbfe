// Package checkpoint knows the user's code: which files are shipped, their bytes and modes, the commit they come from.
// It only reads the user's repository, and runs nothing that the repository configures.
package checkpoint
