package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// ownerMaps makes user namespaces that map a directory's owner to the guest's user, and caches
// them: there are few owners and many sandboxes.
type ownerMaps struct {
	mu  sync.Mutex
	fds map[[2]tree.Owner]*os.File
}

// get returns a namespace that maps the owner of path to the guest's user. The caller does not
// close it.
func (m *ownerMaps) get(path string, id identity) (int, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	st := fi.Sys().(*syscall.Stat_t)
	from, to := tree.Owner{UID: int(st.Uid), GID: int(st.Gid)}, tree.Owner{UID: id.outUID, GID: id.outGID}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fds[[2]tree.Owner{from, to}]; f != nil {
		return int(f.Fd()), nil
	}
	f, err := mapNamespace(from, to)
	if err != nil {
		return 0, fmt.Errorf("map owner of %s: %w", path, err)
	}
	if m.fds == nil {
		m.fds = map[[2]tree.Owner]*os.File{}
	}
	m.fds[[2]tree.Owner{from, to}] = f
	return int(f.Fd()), nil
}

// mapNamespace returns a user namespace in which from is mapped to to. It creates the namespace
// with a process that is stopped before its first instruction, and kills that process once the
// namespace is open.
func mapNamespace(from, to tree.Owner) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	// A traced process belongs to its tracer's thread, so use a thread that ends here.
	go func() {
		runtime.LockOSThread()
		f, err := bornNamespace(from, to)
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func bornNamespace(from, to tree.Owner) (*os.File, error) {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"sandbox"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER,
		Ptrace:     true,
		// If the broker died first, the process would otherwise be released and run, with nobody
		// knowing of it.
		Pdeathsig:   syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: from.UID, HostID: to.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: from.GID, HostID: to.GID, Size: 1}},
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
