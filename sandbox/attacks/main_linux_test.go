package attacks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
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
	sandbox.Init()
	sandboxtest.Main(m, helpers, "life-host")
}

// open starts a sandbox and closes it when the test ends. If this host does not support the tier,
// the test is skipped.
func open(t testing.TB, cfg sandbox.Config) sandbox.Sandbox {
	t.Helper()
	if cfg.Dir == "" && cfg.Snapshot == (sandbox.Snapshot{}) {
		cfg.Dir = t.TempDir()
	}
	sb, err := sandbox.Local(context.Background(), cfg)
	if errors.Is(err, sandbox.ErrFloor) {
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

// walled returns a configuration in which the test binary can run.
func walled(t *testing.T, tier sandbox.Tier) sandbox.Config {
	return sandbox.Config{Floor: tier, Ceiling: tier, ReadOnly: []string{self(t)}}
}

// inDir sets a temporary directory as the configuration's workspace.
func inDir(t *testing.T, cfg sandbox.Config) sandbox.Config {
	cfg.Dir = t.TempDir()
	return cfg
}

// mustExec runs a command that must be able to run.
func mustExec(t testing.TB, sb sandbox.Sandbox, cmd sandbox.Cmd) *sandbox.Exit {
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
func sh(t testing.TB, sb sandbox.Sandbox, script string) string {
	t.Helper()
	exit := mustExec(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", script}})
	if !exit.Success() {
		t.Fatalf("%v: %s\nstdout: %s\nstderr: %s", exit, script, exit.Stdout, exit.Stderr)
	}
	return exit.Stdout.String()
}

// inside runs a helper in the sandbox and reports whether it reached its goal.
func inside(t *testing.T, sb sandbox.Sandbox, name string, args ...string) (reached bool, why string) {
	t.Helper()
	exit := mustExec(t, sb, sandbox.Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + name}, Timeout: time.Minute})
	if exit.Code > 1 && exit.Signal == 0 {
		t.Fatalf("helper %s: %v %s", name, exit, exit.Stderr)
	}
	return exit.Code == 0, exit.Stderr.String()
}

// fork returns a fork of a sandbox and closes it when the test ends.
func fork(t testing.TB, sb sandbox.Sandbox) sandbox.Sandbox {
	t.Helper()
	out, err := sb.(sandbox.Forker).Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return out
}

// kinds returns how each path has changed since the snapshot.
func kinds(t testing.TB, sb sandbox.Sandbox) map[string]sandbox.ChangeKind {
	t.Helper()
	changes, err := sb.(sandbox.Differ).Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sandbox.ChangeKind{}
	for _, c := range changes {
		got[c.Path] = c.Kind
	}
	return got
}

// review returns the sandbox's review of its changes.
func review(t testing.TB, sb sandbox.Sandbox) *sandbox.Review {
	t.Helper()
	r, err := sb.(sandbox.Reviewer).Review(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
