package sandbox

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// facts holds what a supervisor observes of its isolation.
type facts struct {
	PID        int               `json:"pid"`
	UID        int               `json:"uid"`
	Namespaces map[string]string `json:"namespaces"`
	Caps       string            `json:"caps"` // effective and permitted, as the kernel prints them
	NoNewPrivs bool              `json:"noNewPrivs"`
	Seccomp    bool              `json:"seccomp"`
	Noted      bool              `json:"noted"`      // refused calls are sent to a listener
	Interfaces []string          `json:"interfaces"` // network interfaces other than loopback
	Sockets    bool              `json:"sockets"`    // an internet socket can be made
	Written    []string          `json:"written"`    // places that could be written but should not be
	Limits     string            `json:"limits"`
	MaxPID     int64             `json:"maxPID,omitempty"`
	Rules      int               `json:"rules"`             // Landlock version in force
	SystemV    bool              `json:"systemV,omitempty"` // System V objects are limited
}

// observe reports what the kernel enforces, whatever the spec asked for.
func observe(sp *spec) *facts {
	f := &facts{PID: os.Getpid(), UID: os.Getuid(), Namespaces: namespaces()}
	b, _ := os.ReadFile("/proc/self/status")
	f.privileges(proctree.ParseStatus(b))
	f.Interfaces = interfacesOf("/proc/self/")
	if fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err == nil {
		syscall.Close(fd)
		f.Sockets = true
	}
	for _, dir := range shouldBeReadOnly {
		name := fmt.Sprintf("%s/.luthier-%d", strings.TrimSuffix(dir, "/"), os.Getpid())
		if w, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			w.Close()
			os.Remove(name)
			f.Written = append(f.Written, dir)
		}
	}
	if fd, err := syscall.Open(openSetting, syscall.O_WRONLY|syscall.O_CLOEXEC, 0); err == nil {
		syscall.Close(fd)
		f.Written = append(f.Written, openSetting)
	}
	f.Limits, f.MaxPID = limitsInForce(0, sp.Limits), maxPIDInForce(sp.Limits)
	if sp.Landlock != nil {
		f.Rules = sp.Landlock.Version
	}
	return f
}

// privileges takes the privileges from /proc/PID/status.
func (f *facts) privileges(st map[string]string) {
	f.Caps = st["CapEff"] + " " + st["CapPrm"]
	f.NoNewPrivs, f.Seccomp = st["NoNewPrivs"] == "1", st["Seccomp"] == "2"
}

// namespaces identifies the caller's namespaces.
func namespaces() map[string]string { return namespacesOf("/proc/self/") }

// apart reports which of the namespaces differ from the host's.
func (f *facts) apart(sp *spec, names ...string) bool {
	for _, n := range names {
		if f.Namespaces[n] == "" || f.Namespaces[n] == sp.Host.Namespaces[n] {
			return false
		}
	}
	return true
}

// isolation turns facts into the report. It claims nothing that was not observed.
func (f *facts) isolation(sp *spec, id identity) Isolation {
	wall := func(name string, ok bool, yes, no string) Wall {
		if ok {
			return Wall{Name: name, Enforced: true, Detail: yes}
		}
		return Wall{Name: name, Detail: no}
	}
	fs := f.apart(sp, "mnt") && len(f.Written) == 0
	netOK := f.apart(sp, "net") && len(f.Interfaces) == 0
	netBy := "own network namespace, loopback only"
	if !netOK && !f.Sockets {
		netOK, netBy = true, "seccomp refuses internet and Unix sockets, loopback included"
		if sp.Sockets == socketsUnix {
			netBy = "seccomp refuses internet sockets, loopback included; Landlock keeps Unix sockets inside"
		}
	}
	fsBy := "own root: system directories read-only; workspace, /tmp, home and /dev/shm writable"
	if f.Rules > 0 && sp.Root {
		fsBy += fmt.Sprintf("; Landlock version %d as a second wall against changes", f.Rules)
	}
	if f.Rules > 0 && !sp.Root && !fs {
		fs, fsBy = len(f.Written) == 0, fmt.Sprintf("Landlock version %d: granted paths only", f.Rules)
	}
	noCaps := strings.Trim(f.Caps, "0 ") == "" && f.Caps != ""
	iso := newIsolation(sp.Tier,
		wall(WallFilesystem, fs, fsBy, "writable: "+strings.Join(f.Written, " ")),
		wall(WallNetwork, netOK, netBy, "shares the host's network"),
		wall(WallProcesses, f.apart(sp, "pid"), "own PID namespace and /proc", "host processes are visible"),
		wall(WallIPC, f.apart(sp, "ipc"), "own IPC namespace and /dev/shm", "shares the host's System V and POSIX IPC"),
		wall(WallIdentity, id.outUID != 0 && f.UID == id.inUID, fmt.Sprintf("uid %d, on the host %d", f.UID, id.outUID), fmt.Sprintf("uid %d of the host", id.outUID)),
		wall(WallPrivileges, noCaps && f.NoNewPrivs, "no capabilities, no_new_privs", "capabilities "+f.Caps),
		wall(WallSyscalls, f.Seccomp, "seccomp filter", "no seccomp filter"),
		wall(WallEnvironment, true, "allow-list of variables", ""),
		wall(WallLimits, f.Limits != "", f.Limits, "none"),
	)
	iso.Missing = f.missing(sp, id)
	return iso
}

// noListener is reported if there is no seccomp listener.
const noListener = "refused calls are not recorded (the kernel gives no seccomp listener here)"

// missing lists what even the full tier of this version does not protect against.
func (f *facts) missing(sp *spec, id identity) []string {
	out := []string{
		"world-readable files of the system directories can be read",
	}
	if sp.Limits.MemoryTotal <= 0 {
		out = append(out, "memory of the sandbox as a whole is not limited (Limits.MemoryTotal)")
	}
	if sp.Root && !id.dropped {
		out = append(out, "supplementary groups of the host's user stay with commands (an ordinary user cannot drop them)")
	}
	if !f.Noted {
		out = append(out, noListener)
	}
	if !f.apart(sp, "net") {
		out = append(out, "loopback does not work")
		if sp.Sockets == socketsNone {
			out = append(out, "Unix sockets do not work")
		}
		if sp.HostNet {
			out = append(out, "the host's network state can be read in /proc/net")
		}
	}
	if !f.apart(sp, "pid") {
		out = append(out, "names and arguments of host processes can be read")
	}
	return out
}
