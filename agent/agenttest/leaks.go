package agenttest

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// CheckLeaks fails t if a goroutine that was started after this call still runs when t and its
// later cleanups are done. Call it first in the test, so that servers closed by t.Cleanup are gone
// by then; goroutines get five seconds to end. It cannot be used in a test that calls t.Parallel,
// whose neighbours' goroutines it would count.
func CheckLeaks(t testing.TB) {
	t.Helper()
	checkLeaks(t, 5*time.Second)
}

// checkLeaks is CheckLeaks with another time for goroutines to end.
func checkLeaks(t testing.TB, limit time.Duration) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		t.Helper()
		if err := awaitNoLeak(limit, before); err != nil {
			t.Errorf("agenttest: check leaks: %v", err)
		}
	})
}

// awaitNoLeak looks for leaked goroutines until there are none or the time is over. Idle keep-alive
// connections of the default transport are closed: they are a cache, not a leak.
func awaitNoLeak(limit time.Duration, opts ...goleak.Option) error {
	deadline := time.Now().Add(limit)
	for {
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
		err := goleak.Find(opts...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
