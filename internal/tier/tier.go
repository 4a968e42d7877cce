// Package tier determines how thorough a run of the tests is.
//
// There are three tiers: short (go test -short), for the change at hand; default (go test), for
// every change; and long (LUTHIER_LONG=1), which is exhaustive: every moment of a kill, whole
// corpora, soak runs.
package tier

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Env is the environment variable that selects the long tier if it is not empty.
const Env = "LUTHIER_LONG"

// Long reports whether the long tier is selected. If both are, short wins.
func Long() bool { return !testing.Short() && os.Getenv(Env) != "" }

// Pick returns the value for the current tier.
func Pick[T any](short, normal, long T) T {
	switch {
	case testing.Short():
		return short
	case Long():
		return long
	}
	return normal
}

// AtOnce lets n parallel tests run at once unless the command line sets a number (-parallel). The
// default is the number of processors, which is too few for tests that wait for processes and
// timers. Call it in TestMain, before m.Run.
func AtOnce(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if f := flag.Lookup("test.parallel"); f != nil && !set {
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			panic(err) // n is a number, so Set cannot fail
		}
	}
}

// Normal skips a test in the short tier, except under the race detector: the race run uses the
// short tier's smaller numbers, but should still cover every test.
func Normal(t testing.TB) {
	t.Helper()
	if testing.Short() && !race {
		t.Skip("in the default tier")
	}
}
