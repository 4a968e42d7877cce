package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// shouldBeReadOnly lists directories in which nothing can be written if a sandbox's files are
// separate from the host's.
var shouldBeReadOnly = []string{"/", "/etc", "/usr", "/var", "/dev"}

// openSetting is a setting of the kernel that everybody may open for writing if its mount allows
// it.
const openSetting = "/proc/sys/kernel/ns_last_pid"

// observe looks at an init process from outside and reports what the kernel enforces, whatever the
// spec asked for.
func (b *box) observe(sp *spec, id identity, a *initproc.Answer, probes wallProbes, noted bool) (*facts, error) {
	dir := "/proc/" + strconv.Itoa(b.pid) + "/"
	text, err := os.ReadFile(dir + "status")
	if err != nil {
		return nil, fmt.Errorf("look at the first process: %w", err)
	}
	st := proctree.ParseStatus(text)
	f := &facts{Namespaces: namespacesOf(dir), UID: -1, Noted: noted}
	if all := strings.Fields(st["NSpid"]); len(all) > 1 {
		f.PID, _ = strconv.Atoi(all[len(all)-1])
	}
	if uid := strings.Fields(st["Uid"]); len(uid) > 0 && uid[0] == strconv.Itoa(id.outUID) {
		f.UID = id.inUID
	}
	f.privileges(st)
	f.Sockets = !(f.Seccomp && sp.HostNet)
	f.Interfaces = interfacesOf(dir)
	for i, bit := range probes.written {
		if a.Probes&bit != 0 {
			f.Written = append(f.Written, append(slices.Clip(shouldBeReadOnly), openSetting)[i])
		}
	}
	if a.Probes&probes.maxPID != 0 {
		f.MaxPID = maxPIDs(sp.Limits)
	}
	f.SystemV = probes.sysv != 0 && a.Probes&probes.sysv == probes.sysv
	if a.Probes&probes.rules != 0 {
		f.Rules = landlockVersion()
	}
	f.Limits = limitsInForce(b.pid, sp.Limits)
	return f, nil
}

// interfacesOf lists the network interfaces other than loopback by a process's directory of /proc.
// It needs no socket.
func interfacesOf(dir string) (names []string) {
	text, err := os.ReadFile(dir + "net/dev")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name != "lo" {
			names = append(names, name)
		}
	}
	return names
}

// namespacesOf identifies the namespaces of a process by its directory of /proc.
func namespacesOf(dir string) map[string]string {
	out := map[string]string{}
	for _, n := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if id, err := os.Readlink(dir + "ns/" + n); err == nil {
			out[n] = id
		}
	}
	return out
}

// limitsInForce lists the limits that the kernel enforces on a process; pid 0 is this process.
func limitsInForce(pid int, l Limits) string {
	var out []string
	for _, r := range rlimits {
		var now unix.Rlimit
		if unix.Prlimit(pid, r.which, nil, &now) == nil && now.Max != unix.RLIM_INFINITY {
			out = append(out, fmt.Sprintf("%s %d", r.name, now.Max))
		}
	}
	if l.Memory > 0 { // set between fork and exec of every command
		out = append(out, fmt.Sprintf("RLIMIT_DATA %d", l.Memory))
	}
	return strings.Join(out, ", ")
}
