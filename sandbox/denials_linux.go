//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Everything about a call except its number and registers is in the caller's memory. These bytes
// are untrusted: they are read up to a limit, and used only for the record.

// pathArg locates the path argument of a call.
type pathArg struct {
	call      string
	dir, path int // argument numbers; dir is -1 if there is none
}

// peek reads up to len(b) bytes of a process's memory.
func peek(pid uint32, addr uint64, b []byte) []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil || addr > 1<<62 {
		return nil
	}
	defer f.Close()
	n, _ := f.ReadAt(b, int64(addr))
	return b[:max(n, 0)]
}

// lowersCore reports whether a call asks for no core dumps of the calling process: nothing is
// dumped anyway, see keepCoreLimit. Sanitizers end a program if they cannot do that, and scripts
// with "ulimit -c 0" end too.
func lowersCore(c *notice) bool {
	at := c.args[1]
	switch uint32(c.nr) {
	case unix.SYS_SETRLIMIT:
	case unix.SYS_PRLIMIT64:
		if at = c.args[2]; uint32(c.args[0]) != 0 || c.args[3] != 0 {
			return false // another process, or the old limit is wanted too
		}
	default:
		return false
	}
	soft := peek(c.pid, at, make([]byte, 8))
	return len(soft) == 8 && binary.NativeEndian.Uint64(soft) <= 1
}

// connecting returns the denial of a connect to an address outside this network.
func (n *notices) connecting(c *notice) *Denial {
	b := peek(c.pid, c.args[1], make([]byte, min(c.args[2], 28)))
	to, ok := parseAddress(b)
	if !ok || to.Addr().IsLoopback() || to.Addr().IsUnspecified() {
		return nil
	}
	d := &Denial{Call: "connect", Host: to.String(), Errno: unix.ENETUNREACH, Wall: WallNetwork,
		Rule:  "the sandbox's network has loopback only",
		Grant: "Config.Net: the name of the host at " + to.String()}
	if to.Port() == 53 {
		d.Rule += "; there is no name server"
		d.Grant = "Config.Net: the name that was looked up"
	}
	return d
}

// parseAddress reads an internet address out of a struct sockaddr.
func parseAddress(b []byte) (netip.AddrPort, bool) {
	if len(b) < 8 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case unix.AF_INET6:
		if len(b) >= 24 {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port), true
		}
	}
	return netip.AddrPort{}, false
}

// path returns the absolute path that a call refers to, as its caller sees it, or "".
func (n *notices) path(c *notice) string {
	where, ok := pathArgs[uint32(c.nr)]
	if !ok {
		return ""
	}
	b := peek(c.pid, c.args[where.path], make([]byte, maxDenialText))
	i := bytes.IndexByte(b, 0)
	if i < 1 {
		return ""
	}
	name := string(b[:i])
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	base := fmt.Sprintf("/proc/%d/cwd", c.pid)
	if where.dir >= 0 && int32(c.args[where.dir]) != unix.AT_FDCWD {
		base = fmt.Sprintf("/proc/%d/fd/%d", c.pid, int32(c.args[where.dir]))
	}
	dir, err := os.Readlink(base)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, name)
}

// changing returns the denial of a call that is about to be refused because of where its file is.
// It asks the kernel whether the sandbox's user may write there, given its mounts.
func (n *notices) changing(c *notice) *Denial {
	for _, m := range openArgs {
		if m.nr == uint32(c.nr) && c.args[m.flags]&openWrites == 0 {
			return nil
		}
	}
	path := n.path(c)
	if path == "" || path == "/" || within(path, "/proc") {
		return nil // the content of /proc depends on the process that looks
	}
	errno := n.mayWrite(c, path)
	if errno == 0 && n.rules != nil && !n.rules.writable(path) {
		errno = unix.EACCES
	}
	if errno == 0 {
		return nil
	}
	d := &Denial{Call: callName(uint32(c.nr)), Path: path, Errno: errno, Wall: WallFilesystem,
		Rule: "nothing was granted for writing here"}
	if dir := filepath.Dir(path); !isSystemDir(dir) {
		d.Grant = fmt.Sprintf("Config.Writable: %q", dir)
	}
	return d
}

// writable checks the file for calls that change a file, and its directory for calls that change
// the directory, and returns the reason if it is not writable. A path whose directory does not
// exist is not a matter of permissions. may reports whether a path may be written.
func writable(nr uint32, path string, may func(path string) error) unix.Errno {
	err := error(unix.ENOENT)
	switch nr {
	case unix.SYS_OPENAT, unix.SYS_TRUNCATE, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		err = may(path)
	default:
		if name := callName(nr); name == "open" || name == "creat" || name == "chmod" {
			err = may(path)
		}
	}
	if err == unix.ENOENT {
		err = may(filepath.Dir(path))
	}
	switch err {
	case unix.EROFS, unix.EACCES, unix.EPERM:
		return err.(unix.Errno)
	}
	return 0
}

// access reports whether the caller may write a path, as access(2).
func access(path string) error { return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, 0) }

// writable reports whether the rules let a path be written. access(2) does not consult Landlock, so
// its rules are checked here.
func (r *rules) writable(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return slices.ContainsFunc(append(slices.Clip(r.Write), r.Devices...), func(dir string) bool { return within(path, dir) })
}

// socketRuleText describes which sockets are allowed.
func socketRuleText(r socketRule, family uint64) string {
	have := "Unix, IPv4, IPv6 and routing sockets only"
	switch r {
	case socketsUnix:
		have = "Unix sockets only: the network is the host's"
	case socketsNone:
		have = "no sockets: the network is the host's"
	}
	return fmt.Sprintf("family %d: %s", family, have)
}
