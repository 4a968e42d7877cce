//go:build linux

// Package cgroup makes control groups that limit a set of processes as a whole, in whichever
// hierarchies this process may use: cgroup v2, or v1 where the controllers are mounted there.
//
// A group is a directory below the caller's own group, or below the nearest ancestor in which the
// caller may make one. The caller itself is never moved: a library should not change the group of
// its host. A v2 group that contains the host directly and does not delegate therefore cannot be
// used; Make then reports which controllers are missing.
package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are the limits of a group. Zero is no limit.
type Limits struct {
	Memory    int64   // bytes, swap included if the kernel counts it
	Processes int64   // processes and threads
	CPU       float64 // processor time, as a number of processors
}

// Group is a control group, in one or more hierarchies.
type Group struct {
	dirs map[string]string // controller → directory
}

// Prefix is the prefix of the names of all groups made here; the maker's PID and start time follow.
const Prefix = "luthier-"

// hierarchy locates a controller's groups of this process.
type hierarchy struct {
	dir string // this process's own group
	top string // the mount point
	v2  bool
}

// Make makes a group with the limits. If only some can be enforced, that is not an error: see
// Enforces. If none can, Make fails.
func Make(name string, l Limits) (*Group, error) {
	hs, err := find()
	if err != nil {
		return nil, err
	}
	g := &Group{dirs: map[string]string{}}
	var errs error
	for _, c := range []struct {
		name string
		want bool
		set  func(dir string, v2 bool) error
	}{
		{"memory", l.Memory > 0, func(dir string, v2 bool) error { return setMemory(dir, v2, l.Memory) }},
		{"pids", l.Processes > 0, func(dir string, _ bool) error { return write(dir, "pids.max", l.Processes) }},
		{"cpu", l.CPU > 0, func(dir string, v2 bool) error { return setCPU(dir, v2, l.CPU) }},
	} {
		h, ok := hs[c.name]
		switch {
		case !c.want:
			continue
		case !ok:
			errs = errors.Join(errs, fmt.Errorf("controller %s is in no mounted hierarchy", c.name))
			continue
		}
		dir, err := h.make(c.name, name)
		if err == nil {
			if err = c.set(dir, h.v2); err != nil && !slices.Contains(values(g.dirs), dir) {
				_ = unix.Rmdir(dir)
			}
		}
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("controller %s: %w", c.name, err))
			continue
		}
		g.dirs[c.name] = dir
	}
	if len(g.dirs) == 0 {
		return nil, errs
	}
	return g, nil
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// find locates the hierarchies from /proc/self.
func find() (map[string]hierarchy, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parse(own, mounts), nil
}

// parse reads /proc/PID/cgroup and /proc/PID/mountinfo. It returns the v1 controllers by name, and
// the v2 hierarchy for every other controller it has.
func parse(own, mounts []byte) map[string]hierarchy {
	paths := map[string]string{} // controller, or "" for v2 → path of our group
	for sc := bufio.NewScanner(bytes.NewReader(own)); sc.Scan(); {
		f := strings.SplitN(sc.Text(), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			paths[c] = f[2]
		}
	}
	out := map[string]hierarchy{}
	for sc := bufio.NewScanner(bytes.NewReader(mounts)); sc.Scan(); {
		before, after, ok := strings.Cut(sc.Text(), " - ")
		f, a := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(a) < 3 {
			continue
		}
		root, top := f[3], unescape(f[4])
		switch a[0] {
		case "cgroup2":
			if dir, ok := below(top, root, paths[""]); ok {
				out[""] = hierarchy{dir: dir, top: top, v2: true}
			}
		case "cgroup":
			for _, c := range strings.Split(a[2], ",") {
				if dir, ok := below(top, root, paths[c]); ok {
					out[c] = hierarchy{dir: dir, top: top}
				}
			}
		}
	}
	if v2, ok := out[""]; ok {
		delete(out, "")
		for _, c := range []string{"memory", "pids", "cpu"} {
			if _, v1 := out[c]; !v1 {
				out[c] = v2
			}
		}
	}
	return out
}

// below returns the directory of path if the hierarchy's root is mounted at top.
func below(top, root, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	if path == "" || !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return filepath.Join(top, rest), true
}

// unescape decodes mountinfo's octal escapes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// make makes the directory, in our own group or an ancestor of it.
func (h hierarchy) make(controller, name string) (string, error) {
	var first error
	for dir := h.dir; ; dir = filepath.Dir(dir) {
		err := h.grants(dir, controller)
		if err == nil {
			made := filepath.Join(dir, name)
			if err = os.Mkdir(made, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				return made, nil
			}
		}
		if first == nil {
			first = err
		}
		if dir == h.top || len(dir) <= len(h.top) {
			return "", first
		}
	}
}

// grants makes the controller available to groups below dir. In v2 a group that contains processes
// cannot pass a controller on; the kernel then returns EBUSY.
func (h hierarchy) grants(dir, controller string) error {
	if !h.v2 {
		return nil
	}
	const file = "cgroup.subtree_control"
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || slices.Contains(strings.Fields(string(b)), controller) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), []byte("+"+controller), 0)
}

func write(dir, file string, n int64) error {
	return os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, n, 10), 0)
}

func setMemory(dir string, v2 bool, n int64) error {
	if v2 {
		// With swap the group would get more memory than its limit; without swap accounting this
		// file does not exist.
		_ = write(dir, "memory.swap.max", 0)
		return write(dir, "memory.max", n)
	}
	if err := write(dir, "memory.limit_in_bytes", n); err != nil {
		return err
	}
	_ = write(dir, "memory.memsw.limit_in_bytes", n)
	return nil
}

func setCPU(dir string, v2 bool, cpus float64) error {
	const period = 100_000 // microseconds, the kernel's default
	quota := max(int64(cpus*period), 1000)
	if v2 {
		return os.WriteFile(filepath.Join(dir, "cpu.max"), fmt.Appendf(nil, "%d %d", quota, period), 0)
	}
	if err := write(dir, "cpu.cfs_period_us", period); err != nil {
		return err
	}
	return write(dir, "cpu.cfs_quota_us", quota)
}

// Enforces reports whether the group limits "memory", "pids" or "cpu".
func (g *Group) Enforces(controller string) bool {
	return g != nil && g.dirs[controller] != ""
}

// Files returns the cgroup.procs files. Writing a process's PID to each of them moves it into the
// group; its later children start there.
func (g *Group) Files() []string {
	if g == nil {
		return nil
	}
	var out []string
	for _, d := range g.dirs {
		if f := filepath.Join(d, "cgroup.procs"); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// Kills returns the number of processes that the kernel killed for lack of memory in the group.
func (g *Group) Kills() int64 {
	if !g.Enforces("memory") {
		return 0
	}
	for _, file := range []string{"memory.events", "memory.oom_control"} {
		b, err := os.ReadFile(filepath.Join(g.dirs["memory"], file))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(b), "\n") {
			if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
				v, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				return v
			}
		}
	}
	return 0
}

// Close kills the remaining processes of the group, waits for them, and removes the group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	var errs error
	for _, f := range g.Files() {
		errs = errors.Join(errs, remove(filepath.Dir(f)))
	}
	return errs
}

// patience is the time that the kernel may take to release dead processes.
const patience = 5 * time.Second

func remove(dir string) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
		kill(dir)
	}
}

// kill kills the processes in the group, all at once if the kernel supports it (v2, Linux 5.14).
func kill(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
