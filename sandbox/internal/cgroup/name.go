//go:build linux

package cgroup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Name returns the name of a group of this process, unique for its id. It shows a sweep who made
// the group: by its PID and its start time, since another process may get the same PID later.
func Name(id string) string {
	pid := os.Getpid()
	return Prefix + strconv.Itoa(pid) + "-" + started(pid) + "-" + id
}

// started returns a process's start time, in the kernel's ticks since boot, or "".
func started(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return ""
	}
	return f[19]
}

// orphaned reports whether a group of that name was made by a process that is now dead.
func orphaned(name string) bool {
	rest, ok := strings.CutPrefix(name, Prefix)
	f := strings.SplitN(rest, "-", 3)
	if !ok || len(f) != 3 {
		return false
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil || pid <= 0 || f[1] == "" {
		return false
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return false // without start times, dead and living makers cannot be distinguished
	}
	return started(pid) != f[1]
}

// Sweep removes groups whose makers are dead, with the processes in them. It looks where this
// process would make its own groups.
func Sweep() (n int, err error) {
	hs, err := find()
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, h := range hs {
		for dir := h.dir; !seen[dir] && len(dir) >= len(h.top); dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, readErr := os.ReadDir(dir)
			if readErr != nil && !errors.Is(readErr, fs.ErrPermission) {
				break
			}
			for _, e := range entries {
				if e.IsDir() && orphaned(e.Name()) {
					n++
					err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
				}
			}
		}
	}
	return n, err
}
