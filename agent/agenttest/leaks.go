package agenttest

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// CheckLeaks fails t if a goroutine that was started after this call is still running when t and
// its later cleanups are done. Call it first in the test, so that servers closed by t.Cleanup are
// gone by then; goroutines have a minute to end. Do not use it in a test that calls t.Parallel:
// it would count the goroutines of tests running at the same time.
func CheckLeaks(t testing.TB) {
	t.Helper()
	checkLeaks(t, time.Minute)
}

// checkLeaks is CheckLeaks with a different time limit for goroutines to end.
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

// awaitNoLeak looks for leaked goroutines until there are none or the time is over. It closes idle
// keep-alive connections of the default transport: they are a cache, not a leak.
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
