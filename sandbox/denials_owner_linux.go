//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// watchNotices answers refused calls, if there is a listener.
func (s *supervisor) watchNotices() error {
	if s.spec.Notify <= 0 {
		return nil
	}
	n := &notices{options: s.spec.filter(), rules: s.spec.Landlock, mayWrite: writable}
	n.owner = func(pid int) func(Denial) {
		id := s.commandOf(pid)
		return func(d Denial) { s.noted.note(id, d) }
	}
	return n.watch(s.spec.Notify)
}

// watchNotices answers the refused calls of a sandbox that the broker made, and reports them to the
// host before their caller continues.
func (b *box) watchNotices(sp *spec, listener *os.File) error {
	fd, err := unix.FcntlInt(listener.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	listener.Close()
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	n := &notices{options: sp.filter()}
	n.owner = func(pid int) func(Denial) {
		r := reply{Event: evDenied, Lineage: b.lineage(pid), ID: markedAs(pid, sp.marker())}
		return func(d Denial) {
			r.Denial = &d
			b.say(r)
		}
	}
	n.mayWrite = func(nr uint32, path string) (errno unix.Errno) {
		b.within(func() { errno = writable(nr, path) })
		return errno
	}
	return n.watch(fd)
}

// lineage returns the PIDs, as seen inside the sandbox, that link a process to its command: its
// own, its session's, its parent's, and so on.
func (b *box) lineage(pid int) (out []int) {
	for range 64 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil || pid == b.pid {
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
