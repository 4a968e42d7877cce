package sandbox

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
)

// helpers are the programs that tests run in a sandbox, or outside as their control.
var helpers = sandboxtest.Programs()

// Names shared by the sandbox tests.
const (
	helperEnv    = sandboxtest.HelperEnv
	raceDetector = sandboxtest.RaceDetector
)

var (
	self, placeSelf, scaled    = sandboxtest.Self, sandboxtest.PlaceSelf, sandboxtest.Scaled
	write, read, treeOf        = sandboxtest.Write, sandboxtest.Read, sandboxtest.Tree
	eventually, need           = sandboxtest.Eventually, sandboxtest.Need
	uniqueSleep, processesWith = sandboxtest.UniqueSleep, sandboxtest.ProcessesWith
	brokerPIDs, theBrokerOf    = sandboxtest.Brokers, sandboxtest.TheBrokerOf
)

func TestMain(m *testing.M) {
	Init()
	sandboxtest.Main(m, helpers, "host", "layers", "nested", "no-network-namespace", "pool-host", "pool-user")
}

// open starts a sandbox and closes it when the test ends. If this host does not support the tier,
// the test is skipped.
func open(t testing.TB, cfg Config) Sandbox {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of these tests are a Unix system's")
	}
	if cfg.Dir == "" && cfg.Snapshot.isZero() {
		cfg.Dir = t.TempDir()
	}
	sb, err := Local(context.Background(), cfg)
	if errors.Is(err, ErrFloor) {
		t.Skipf("this host does not grant the tier: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return sb
}

// plain returns a configuration without isolation.
func plain() Config { return Config{Floor: TierNone, Ceiling: TierNone} }

// tiers runs f at every tier that this host supports; with -short only at the highest and the
// lowest.
func tiers(t *testing.T, f func(t *testing.T, cfg Config)) {
	tiers := []Tier{TierNone, TierLandlock, TierBubblewrap, TierNamespaces}
	if testing.Short() {
		tiers = []Tier{TierNone, TierNamespaces}
	}
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) { f(t, Config{Floor: tier, Ceiling: tier}) })
	}
}

// mustExec runs a command that must be able to run.
func mustExec(t testing.TB, sb Sandbox, cmd Cmd) *Exit {
	t.Helper()
	if cmd.Timeout == 0 {
		cmd.Timeout = 2 * time.Minute
	}
	exit, err := sb.Exec(context.Background(), cmd)
	if err != nil {
		t.Fatalf("Exec %q: %v", cmd.Args, err)
	}
	return exit
}

// sh runs a shell script that must succeed, and returns its output.
func sh(t testing.TB, sb Sandbox, script string) string {
	t.Helper()
	exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}})
	if !exit.Success() {
		t.Fatalf("%v: %s\nstdout: %s\nstderr: %s", exit, script, exit.Stdout, exit.Stderr)
	}
	return exit.Stdout.String()
}
