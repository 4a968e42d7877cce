package sandbox

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary run one of helpers instead of the tests, so
// that attacks inside a sandbox are Go code and need nothing installed.
const helperEnv = "LUTHIER_TEST_HELPER"

func TestMain(m *testing.M) {
	Init()
	if name := os.Getenv(helperEnv); name != "" {
		status := runHelper(name, os.Args[1:])
		if !hosts[name] {
			syscall.Exit(status) // not os.Exit, in which the race detector waits a second
		}
		os.Exit(status)
	}
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		// Most of what tests do is to wait for programs.
		if err := p.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// hosts are the helpers that use this package, in which races are to be found.
var hosts = map[string]bool{
	"host": true, "layers": true, "life-host": true, "nested": true, "no-network-namespace": true, "pool-host": true, "pool-user": true,
}

// self is the test binary's path.
func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// open starts a sandbox and closes it with the test. A tier that this host does
// not grant skips the test.
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

// plain is a configuration without isolation.
func plain() Config { return Config{Floor: TierNone, Ceiling: TierNone} }

// tiers runs f at every tier that this host grants.
func tiers(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, tier := range []Tier{TierNone, TierLandlock, TierBubblewrap, TierNamespaces} {
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

// scaled is how often to do what is done many times: half as often under the race
// detector, which makes it several times as slow and the whole of it no better.
func scaled(n int) int {
	if raceDetector {
		return n / 2
	}
	return n
}

// placeSelf gives the test binary another name. It is not written by this process: while
// tests beside it start programs, a child may hold the file open for writing for a
// moment, and then it cannot be run.
func placeSelf(t testing.TB, name string) {
	t.Helper()
	if os.Link(self(t), name) == nil {
		return
	}
	if out, err := exec.Command("cp", self(t), name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually waits for what another process or goroutine must do soon.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not happen within a minute", what)
}

// uniqueSleep is an argument that only one test's processes have.
func uniqueSleep() string { return strconv.Itoa(500000 + rand.IntN(400000)) }

// processesWith lists host processes that have word in their arguments.
func processesWith(t testing.TB, word string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		if slices.Contains(strings.Split(string(b), "\x00"), word) {
			out = append(out, filepath.Base(filepath.Dir(p))+": "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return out
}
