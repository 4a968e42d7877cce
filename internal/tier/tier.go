// Package tier says how thorough a run of the tests is to be.
//
// There are three tiers: short (go test -short), for the change at hand; default (go test), for every change; and long
// (LUTHIER_LONG=1), which is exhaustive: every moment of a kill, whole corpora, soak runs.
package tier

import (
	"os"
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
