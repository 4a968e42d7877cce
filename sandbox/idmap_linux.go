package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerMaps makes user namespaces that map a directory's owner to the guest.
type ownerMaps struct {
	id  identity
	fds map[owner]*os.File
}

func (m *ownerMaps) close() {
	for _, f := range m.fds {
		f.Close()
	}
}

func (m *ownerMaps) get(path string) (int, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	st := fi.Sys().(*syscall.Stat_t)
	o := owner{int(st.Uid), int(st.Gid)}
	if f := m.fds[o]; f != nil {
		return int(f.Fd()), nil
	}
	f, err := mapNamespace(o, owner{m.id.outUID, m.id.outGID})
	if err != nil {
		return 0, fmt.Errorf("map owner of %s: %w", path, err)
	}
	m.fds[o] = f
	return int(f.Fd()), nil
}

// mapNamespace returns a user namespace in which from is mapped to to. It is
// born with a process that is stopped before its first instruction and killed
// when the namespace is held.
func mapNamespace(from, to owner) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	// A thread of its own, which ends here: a traced process belongs to it.
	go func() {
		runtime.LockOSThread()
		f, err := bornNamespace(from, to)
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func bornNamespace(from, to owner) (*os.File, error) {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"sandbox"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		Ptrace:      true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: from.uid, HostID: to.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: from.gid, HostID: to.gid, Size: 1}},
	}})
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "ns/user"))
	_ = unix.Kill(pid, unix.SIGKILL)
	for {
		var ws unix.WaitStatus
		if _, waitErr := unix.Wait4(pid, &ws, 0, nil); waitErr != unix.EINTR && (waitErr != nil || ws.Exited() || ws.Signaled()) {
			return f, err
		}
	}
}
