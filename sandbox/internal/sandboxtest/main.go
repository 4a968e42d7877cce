// Package sandboxtest contains what the sandbox tests share: the test binary as a program that runs
// inside sandboxes, and functions that inspect the host. It does not import package sandbox, whose
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

// HelperEnv is the variable that makes the test binary run a program instead of the tests. Attacks
// inside a sandbox can thus be written in Go and need nothing installed.
const HelperEnv = "LUTHIER_TEST_HELPER"

// Main runs the program that the environment names, or else the tests. Status 0 means that a
// program reached its goal, 1 that it was refused. The programs listed in hosts use sandboxes
// themselves, so the race detector also reports on them.
func Main(m *testing.M, programs map[string]func(args []string) error, hosts ...string) {
	if name := os.Getenv(HelperEnv); name != "" {
		status := run(programs[name], name)
		if !slices.Contains(hosts, name) {
			syscall.Exit(status) // os.Exit would make the race detector wait for a second
		}
		os.Exit(status)
	}
	WaitTogether()
	os.Exit(m.Run())
}

// WaitTogether lets more tests run at once than there are processors: they mostly wait for
// programs.
func WaitTogether() { tier.AtOnce(4 * runtime.GOMAXPROCS(0)) }

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

// Self returns the test binary's path.
func Self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// Scaled returns the number of repetitions to use instead of n: half as many under the race
// detector, which makes each several times slower, while more repetitions show no more.
func Scaled(n int) int {
	if RaceDetector {
		return n / 2
	}
	return n
}

// PlaceSelf copies the test binary to another name. Another process writes the copy: while
// concurrent tests start programs, a child of this one may hold the file open for writing for a
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
