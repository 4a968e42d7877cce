// Package tier says how thorough a run of the tests is to be.
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

// Env is the environment variable that asks for the long tier by any value but the empty one.
const Env = "LUTHIER_LONG"

// Long reports whether the long tier is asked for. Short wins where both are.
func Long() bool { return !testing.Short() && os.Getenv(Env) != "" }

// Pick returns the value of the tier that runs.
func Pick[T any](short, normal, long T) T {
	switch {
	case testing.Short():
		return short
	case Long():
		return long
	}
	return normal
}

// Beside lets n parallel tests run at once unless the command line says how many (-parallel). The
// default is the number of processors, which is too few for tests that wait for processes and
// timers. Call it in TestMain, before m.Run.
func Beside(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if f := flag.Lookup("test.parallel"); f != nil && !set {
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			panic(err) // n is a number
		}
	}
}

// Normal skips a test in the short tier. Under the race detector it runs there too: the race run is
// short for its numbers, not for want of things to watch.
func Normal(t testing.TB) {
	t.Helper()
	if testing.Short() && !race {
		t.Skip("in the default tier")
	}
}
