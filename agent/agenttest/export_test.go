package agenttest

import (
	"testing"
	"time"
)

// CheckLeaksFor is CheckLeaks with another time for goroutines to end.
func CheckLeaksFor(t testing.TB, limit time.Duration) {
	t.Helper()
	checkLeaks(t, limit)
}
