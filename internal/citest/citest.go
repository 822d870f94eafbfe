// Package citest says what a test does where something that it needs is missing. Only tests import it.
package citest

import (
	"os"
	"testing"
)

// Skip skips a test on a machine that cannot run it. In CI (XRUN_CI is set) that is a failure: there every test runs.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("XRUN_CI") != "" {
		t.Fatalf("this must run in CI: %s", why)
	}
	t.Skip(why)
}
