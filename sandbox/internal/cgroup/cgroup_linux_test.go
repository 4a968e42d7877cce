package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

func TestParse(t *testing.T) {
	v2 := hierarchy{dir: "/sys/fs/cgroup/user.slice/app.scope", top: "/sys/fs/cgroup", v2: true}
	for _, c := range []struct {
		name, own, mounts string
		controller        string
		want              hierarchy
	}{
		{"v2", "0::/user.slice/app.scope\n", "30 1 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n", "memory", v2},
		{"v1 beside an empty v2", "4:memory:/a\n0::/\n",
			"33 1 0:29 / /c/memory rw - cgroup cgroup rw,memory\n34 1 0:30 / /c/unified rw - cgroup2 cgroup2 rw\n",
			"memory", hierarchy{dir: "/c/memory/a", top: "/c/memory"}},
		{"joined controllers", "2:cpu,cpuacct:/x y\n", "33 1 0:29 /x\\040y /c/cpu\\040acct rw - cgroup cgroup rw,cpu,cpuacct\n",
			"cpu", hierarchy{}},
		{"joined controllers, plain", "2:cpu,cpuacct:/x/y\n", "33 1 0:29 /x /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
			"cpu", hierarchy{dir: "/c/cpu/y", top: "/c/cpu"}},
		{"a sibling's mount", "0::/ab\n", "33 1 0:29 /a /c rw - cgroup2 cgroup2 rw\n", "pids", hierarchy{}},
		{"garbage", "x\n1:2\n", "- -\n", "memory", hierarchy{}},
	} {
		if got := parse([]byte(c.own), []byte(c.mounts))[c.controller]; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("0::/a\n4:memory:/b\n"), []byte("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 1 0:2 / /m\\040n rw - cgroup c rw,memory\n"))
	f.Fuzz(func(t *testing.T, own, mounts []byte) {
		for c, h := range parse(own, mounts) {
			if h.dir == "" || h.top == "" && h.dir == "" {
				t.Errorf("%q: %+v", c, h)
			}
		}
	})
}

// group makes a group with all limits, or skips the test if this process may not.
func group(t *testing.T, l Limits) *Group {
	t.Helper()
	g, err := Make(Name(t.Name()), l)
	if err != nil {
		t.Skipf("no control groups for this process: %v", err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range g.Files() {
			if _, err := os.Stat(f); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", f, err)
			}
		}
	})
	return g
}

// start runs a shell script in the group from its first command on.
func start(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read go; "+script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Files() {
		if err := os.WriteFile(f, []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = in.Write([]byte("\n"))
	in.Close()
	return cmd
}

func TestMemoryIsBoundedOverProcesses(t *testing.T) {
	tier.Normal(t)
	g := group(t, Limits{Memory: 64 << 20})
	if !g.Enforces("memory") {
		t.Skip("no memory controller")
	}
	// Each process alone is within the limit.
	cmd := start(t, g, `for i in 1 2 3 4; do sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" a); sleep 1' & done; wait`)
	_ = cmd.Wait()
	if g.Kills() == 0 {
		t.Error("120 MB in four processes were had against a limit of 64 MiB")
	}
}

func TestProcessesAreBounded(t *testing.T) {
	tier.Normal(t)
	g := group(t, Limits{Processes: 20})
	if !g.Enforces("pids") {
		t.Skip("no pids controller")
	}
	cmd := start(t, g, `for i in $(seq 40); do sleep 5 & done`)
	if err := cmd.Wait(); err == nil {
		t.Error("40 processes were had against a limit of 20")
	}
}

// TestSweep checks that the groups of a dead maker are removed, and that those of a living one are
// not.
func TestSweep(t *testing.T) {
	g := group(t, Limits{Processes: 20})
	if !g.Enforces("pids") {
		t.Skip("no pids controller")
	}
	left := filepath.Join(filepath.Dir(g.dirs["pids"]), Prefix+strconv.Itoa(os.Getpid())+"-1-left")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(left)
	if _, err := Sweep(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead process's group is left: %v", err)
	}
	if _, err := os.Stat(g.Files()[0]); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{
		Name("x"): false, "luthier-": false, "luthier-1-": false, "other": false, "luthier-x-1-y": false, "luthier-99999999-5-y": true,
	} {
		if orphaned(name) != want {
			t.Errorf("orphaned(%q) = %v", name, !want)
		}
	}
}
