package sandboxtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// Eventually waits for a condition that another process or goroutine must meet soon.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not happen within a minute", what)
}

// UniqueSleep returns an argument that only one test's processes have.
func UniqueSleep() string { return strconv.Itoa(500000 + rand.IntN(400000)) }

// ProcessesWith lists host processes that have word in their arguments.
func ProcessesWith(t testing.TB, word string) []string {
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

// BrokerArg is an argument that only brokers have.
const BrokerArg = "broker"

// Brokers returns the brokers of process ppid.
func Brokers(t testing.TB, ppid int) []int {
	t.Helper()
	var out []int
	for _, p := range ProcessesWith(t, BrokerArg) {
		pid, _ := strconv.Atoi(strings.SplitN(p, ":", 2)[0])
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && proctree.ParseStatus(b)["PPid"] == strconv.Itoa(ppid) && !strings.HasPrefix(proctree.ParseStatus(b)["State"], "Z") {
			out = append(out, pid)
		}
	}
	return out
}

// TheBrokerOf waits until the process has exactly one broker, and returns it: a broker that an
// earlier test killed may still be ending.
func TheBrokerOf(t testing.TB, ppid int) int {
	t.Helper()
	var pids []int
	Eventually(t, "there being one broker", func() bool {
		pids = Brokers(t, ppid)
		return len(pids) == 1
	})
	return pids[0]
}

// Need skips the test if a program is not installed.
func Need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}
