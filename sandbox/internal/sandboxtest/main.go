// Package sandboxtest holds what the tests of sandboxes share: the test binary as a program that
// runs inside of them, and a look at what the host sees. It does not import package sandbox, whose
// own tests use it.
package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// HelperEnv is the variable that makes the test binary run a program instead of the tests, so
// that attacks inside a sandbox are Go code and need nothing installed.
const HelperEnv = "LUTHIER_TEST_HELPER"

// Main runs the program that the environment names, or else the tests. Status 0 means that a
// program reached what it was after, 1 that it was refused. The programs that hosts names use
// sandboxes themselves, so races are to be found in them.
func Main(m *testing.M, programs map[string]func(args []string) error, hosts ...string) {
	if name := os.Getenv(HelperEnv); name != "" {
		status := run(programs[name], name)
		if !slices.Contains(hosts, name) {
			syscall.Exit(status) // not os.Exit, in which the race detector waits a second
		}
		os.Exit(status)
	}
	WaitTogether()
	os.Exit(m.Run())
}

// WaitTogether lets more tests run at once than there are processors: most of what they do is to
// wait for programs.
func WaitTogether() { tier.Beside(4 * runtime.GOMAXPROCS(0)) }

func run(program func([]string) error, name string) int {
	if program == nil {
		fmt.Fprintln(os.Stderr, "no helper", name)
		return 2
	}
	if err := program(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Self is the test binary's path.
func Self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// Scaled is how often to do what is done many times: half as often under the race
// detector, which makes it several times as slow and the whole of it no better.
func Scaled(n int) int {
	if RaceDetector {
		return n / 2
	}
	return n
}

// PlaceSelf gives the test binary another name. It is not written by this process: while
// tests beside it start programs, a child may hold the file open for writing for a
// moment, and then it cannot be run.
func PlaceSelf(t testing.TB, name string) {
	t.Helper()
	if os.Link(Self(t), name) == nil {
		return
	}
	if out, err := exec.Command("cp", Self(t), name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
