package tier

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakLimit limits the time that goroutines have to end. On a busy machine, one that is about to
// end may have to wait for its turn for more than the half second that goleak grants.
const leakLimit = time.Minute

// Main runs the tests of a package and exits. It fails if they passed and left goroutines behind.
// Call it in TestMain. Child processes can be interrupted, even if the tests were started in the
// background of a shell.
func Main(m *testing.M) {
	interruptible()
	os.Exit(run(m, leakLimit))
}

func run(m *testing.M, limit time.Duration) (code int) {
	if code = m.Run(); code != 0 {
		return code
	}
	if err := awaitNoLeaks(limit); err != nil {
		fmt.Fprintln(os.Stderr, "after all tests:", err)
		return 1
	}
	return 0
}

// NoLeaks fails a test if goroutines are left, other than those that the options allow. Do not use
// it in a test that calls t.Parallel: it would count the goroutines of others.
func NoLeaks(t testing.TB, opts ...goleak.Option) {
	t.Helper()
	if err := awaitNoLeaks(leakLimit, opts...); err != nil {
		t.Error(err)
	}
}

func awaitNoLeaks(limit time.Duration, opts ...goleak.Option) error {
	for end := time.Now().Add(limit); ; {
		err := goleak.Find(opts...)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
