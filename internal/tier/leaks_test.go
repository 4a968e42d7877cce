package tier

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const leakEnv = "LUTHIER_TEST_LEAK"

// TestMain starts a goroutine that ends late, or never, if the environment says so.
func TestMain(m *testing.M) {
	if d, err := time.ParseDuration(os.Getenv(leakEnv)); err == nil {
		go time.Sleep(d)
		os.Exit(run(m, 5*time.Second)) // a minute would be too long for this test
	}
	Main(m)
}

// TestMainWaitsForGoroutines checks that a goroutine that ends later than the half second of goleak
// is no leak, and that one that stays is.
func TestMainWaitsForGoroutines(t *testing.T) {
	Normal(t)
	t.Parallel()
	for d, leaks := range map[string]bool{"1500ms": false, "1h": true} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), leakEnv+"="+d)
			out, err := cmd.CombinedOutput()
			if leaks != (err != nil) || leaks != strings.Contains(string(out), "after all tests:") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
