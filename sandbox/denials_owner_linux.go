//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// watch answers the refused calls of a sandbox whose supervisor, process sup, the host started
// itself. The supervisor cannot do it: a call of its own would wait for an answer that only it
// could give, and Go's scheduler does not expect some of these calls, such as socket, to wait.
func (r *refusals) watch(sp *spec, sup int, listener *os.File) error {
	fd, err := unix.FcntlInt(listener.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	listener.Close()
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	n := &notices{options: sp.filter(), rules: sp.Landlock}
	n.owner = func(pid int) func(Denial) {
		told := reply{Event: evDenied, Lineage: lineage(pid, sup), ID: markedAs(pid, sp.marker())}
		return func(d Denial) {
			if g := r.to.Load(); g != nil {
				told.Denial = &d
				g.denied(&told)
			}
		}
	}
	n.mayWrite = func(c *notice, path string) unix.Errno {
		if sp.Landlock != nil { // the host's own mounts
			return writable(uint32(c.nr), path, access)
		}
		return writable(uint32(c.nr), path, accessIn(int(c.pid)))
	}
	r.over, err = n.watch(fd)
	return err
}

// accessIn returns a function like access for paths as a process of another root sees them.
func accessIn(pid int) func(string) error {
	return func(path string) error {
		root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Faccessat(fd, "", unix.W_OK, unix.AT_EMPTY_PATH)
	}
}

// watchNotices answers the refused calls of a sandbox that the broker made, and reports them to the
// host before their caller continues.
func (b *box) watchNotices(sp *spec, listener *os.File) error {
	fd, err := unix.FcntlInt(listener.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	listener.Close()
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if b.user.Dropped {
		b.files.UID, b.files.GID = b.user.OutUID, b.user.OutGID
	}
	n := &notices{options: sp.filter(), files: &b.files}
	n.owner = func(pid int) func(Denial) {
		r := reply{Event: evDenied, Lineage: lineage(pid, b.pid), ID: markedAs(pid, sp.marker())}
		return func(d Denial) {
			r.Denial = &d
			b.say(r)
		}
	}
	n.mayWrite = func(c *notice, path string) (errno unix.Errno) {
		b.within(func() { errno = writable(uint32(c.nr), path, access) })
		return errno
	}
	_, err = n.watch(fd)
	return err
}

// lineage returns the PIDs, as seen inside the sandbox, that link a process to its command: its
// own, its session's, its parent's, and so on, up to the process that starts the commands.
func lineage(pid, first int) (out []int) {
	for range 64 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil || pid == first {
			break
		}
		st := proctree.ParseStatus(text)
		for _, key := range []string{"NStgid", "NSsid"} {
			if all := strings.Fields(st[key]); len(all) > 0 {
				n, _ := strconv.Atoi(all[len(all)-1])
				out = append(out, n)
			}
		}
		pid, _ = strconv.Atoi(st["PPid"])
	}
	return out
}

// markedAs reads the number of a command from the environment that a process was started with.
func markedAs(pid int, marker string) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return 0
	}
	for kv := range strings.SplitSeq(string(text), "\x00") {
		if rest, ok := strings.CutPrefix(kv, marker); ok {
			id, _ := strconv.ParseUint(strings.TrimSuffix(rest, ";"), 10, 64)
			return id
		}
	}
	return 0
}
