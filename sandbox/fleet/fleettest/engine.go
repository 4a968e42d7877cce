// Package fleettest contains the conformance suite that every fleet.Engine must pass.
package fleettest

import (
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// AckWait and Presence are the periods to configure in the engines under test.
const (
	AckWait  = 2 * time.Second
	Presence = 2 * time.Second
)

// Pair opens an empty fleet and returns two independent engines for it, as on two machines. For an
// engine of one process it returns the same engine twice. It closes what it opened when the test
// ends.
type Pair func(t testing.TB) (a, b fleet.Engine)

// Engine runs the suite. It waits for periods to pass, but never fails because a period took too
// long.
func Engine(t *testing.T, open Pair) {
	for name, test := range map[string]func(*testing.T, fleet.Engine, fleet.Engine){
		"queue/done once":            doneOnce,
		"queue/duplicate":            duplicate,
		"queue/redelivered":          redelivered,
		"queue/extended":             extended,
		"queue/retried":              retried,
		"queue/classes":              classes,
		"queue/waits":                waits,
		"queue/late answer":          lateAnswer,
		"queue/many workers":         manyWorkers,
		"queue/refused":              refused,
		"results/first counts":       firstCounts,
		"results/race":               resultRace,
		"results/watch":              watchResults,
		"leases/held":                leaseHeld,
		"leases/expired":             leaseExpired,
		"leases/renewed":             leaseRenewed,
		"leases/race":                leaseRace,
		"leases/refused":             leaseRefused,
		"presence/announced":         announced,
		"bus/calls":                  calls,
		"bus/stop waits for handler": stopWaits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			test(t, a, b)
		})
	}
}

// Job returns a job with a command that any host can run.
func Job(id, class string) *fleet.Job {
	return &fleet.Job{ID: id, Class: class, Tenant: "t", Command: fleet.Command{Args: []string{"true"}}}
}
