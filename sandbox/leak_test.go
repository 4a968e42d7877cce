package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// holdings counts resources that must not grow. It counts only mounts below scratch, since other
// mounts of this machine come and go.
func holdings(t testing.TB, scratch string) (goroutines, descriptors, mounts int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return runtime.NumGoroutine(), len(fds), strings.Count(read(t, "/proc/self/mountinfo"), scratch)
}

func checkHoldings(t *testing.T, scratch, what string, f func()) {
	t.Helper()
	f() // create now what is created only once
	g, d, m := holdings(t, scratch)
	f()
	eventually(t, "return to what was held before "+what, func() bool {
		runtime.GC() // do not rely on finalizers, but let those that are due run
		g2, d2, m2 := holdings(t, scratch)
		return g2 <= g && d2 <= d && m2 <= m
	})
}

func TestTwoHundredCommandsLeakNothing(t *testing.T) {
	tier.Normal(t)
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.ScratchDir = t.TempDir()
		sb := open(t, cfg)
		checkHoldings(t, cfg.ScratchDir, "200 commands", func() {
			for i := range tier.Pick(40, 200, 2000) {
				cmd := Cmd{Args: []string{"echo", "hi"}}
				switch i % 20 {
				case 1:
					cmd = Cmd{Args: []string{"cat"}, Stdin: strings.NewReader("x")}
				case 2:
					cmd = Cmd{Args: []string{"sh", "-c", "exec 3>&1; sleep 0.2 & exit 1"}, MergeStderr: true}
				case 3, 7, 11:
					cmd = Cmd{Args: []string{"no-such-program"}}
				}
				_, _ = sb.Exec(t.Context(), cmd)
			}
		})
	})
}

func TestSandboxesLeakNothing(t *testing.T) {
	tier.Normal(t)
	tiers(t, func(t *testing.T, cfg Config) {
		open(t, cfg) // skips if the tier is not available
		scratch := t.TempDir()
		dir := t.TempDir()
		write(t, dir, "f", "x")
		checkHoldings(t, scratch, "10 sandboxes", func() {
			for i := range 10 {
				cfg := Config{Floor: cfg.Floor, Ceiling: cfg.Ceiling, ScratchDir: scratch, Snapshot: SnapshotDir(dir)}
				if i%2 == 0 {
					cfg.Dir, cfg.Snapshot = dir, Snapshot{}
				}
				sb, err := Local(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				// Permissions that make cleaning up hard.
				sh(t, sb, "mkdir -p $TMPDIR/a/b/c && touch $TMPDIR/a/b/c/f && chmod 0 $TMPDIR/a/b/c $TMPDIR/a/b; mkdir -p $HOME/x && chmod 0 $HOME/x; echo y > f")
				if err := sb.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
		if left, err := filepath.Glob(scratch + "/*"); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
}
