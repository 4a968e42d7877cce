package agenttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent/agenttest"
)

// fakeTB records failures and runs its cleanups on demand.
type fakeTB struct {
	testing.TB
	failed   []string
	cleanups []func()
}

func (f *fakeTB) Helper()           {}
func (f *fakeTB) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *fakeTB) Errorf(format string, args ...any) {
	f.failed = append(f.failed, fmt.Sprintf(format, args...))
}

func (f *fakeTB) finish() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

func leakyWorker(stop chan struct{}) { <-stop }

func TestCheckLeaksSeesALeak(t *testing.T) {
	tb := &fakeTB{TB: t}
	agenttest.CheckLeaksFor(tb, 50*time.Millisecond) // it never ends, however long the limit
	stop := make(chan struct{})
	go leakyWorker(stop)
	tb.finish()
	close(stop)
	if got := strings.Join(tb.failed, "\n"); !strings.Contains(got, "leakyWorker") {
		t.Errorf("the leak was not reported: %q", got)
	}
}

func TestCheckLeaksIsQuiet(t *testing.T) {
	tb := &fakeTB{TB: t}
	agenttest.CheckLeaks(tb)
	done := make(chan struct{})
	go func() { close(done) }()
	<-done
	tb.finish()
	if len(tb.failed) > 0 {
		t.Errorf("failed without a leak: %q", tb.failed)
	}
}
