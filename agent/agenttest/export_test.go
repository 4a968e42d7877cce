package agenttest

import (
	"testing"
	"time"
)

// CheckLeaksFor is CheckLeaks with a different time limit for goroutines to end.
func CheckLeaksFor(t testing.TB, limit time.Duration) {
	t.Helper()
	checkLeaks(t, limit)
}
