package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// spec describes the isolation that a supervisor must set up. It is the first frame on the control
// socket.
type spec struct {
	ID       string // distinguishes this sandbox's processes from those of others
	Tier     Tier
	Root     bool // build a new root from Mounts
	Mounts   []mount
	Later    bool // a workspace will be attached later
	Hostname string
	Landlock *rules
	Sockets  socketRule // the sockets that seccomp allows
	HostNet  bool       // no network namespace: seccomp and Landlock replace it
	Watch    int64      // the limit of total memory that the supervisor itself must enforce, or 0
	Trace    bool       // also report refused writes
	Limits   Limits
	Host     hostView
}

// hostView is the host's view of its own namespaces, for comparison.
type hostView struct {
	Namespaces map[string]string // name → identity
	UID        int
}

// mount is one entry of the new root.
type mount struct {
	Kind     string
	Target   string
	Source   string // bind: host path, unless FD is open; symlink: target; text: content of the file
	FD       int    // bind, overlay: a detached mount made by the host
	UpperFD  int
	Upper    string   // overlay: host directory that contains upper and work
	Below    []string // overlay: read-only layers between upper and source, newest first
	BelowFDs []int    // or open mounts of them
	ReadOnly bool
	File     bool // bind of a file
	Device   bool
	Size     int64 // tmpfs, in bytes
	Optional bool
	Key      string // overlay: a mount retained under the same key can be used instead, see mountOrder.Retain
	Pinned   bool   // bind: the source is in a directory that commands write, so a final symbolic link is not followed
	OwnerOf  string // bind: the host path whose owner appears as the sandbox's user; empty means the source
}

// The kinds of mount.
const (
	mountBind    = "bind"
	mountOverlay = "overlay"
	mountTmpfs   = "tmpfs"
	mountDevpts  = "devpts"
	mountSymlink = "symlink"
	mountDir     = "dir"
	mountText    = "text" // a read-only file made for this sandbox
)

// marker returns the beginning of an environment entry that every command has.
func (s *spec) marker() string { return markerEnv + "=" + s.ID + "." }

// check rejects a spec that no host of this version writes; it guards the supervisor against a
// program that runs itself with the stage's arguments.
func (s *spec) check() error {
	if !s.Tier.valid() || s.Tier == TierNone {
		return fmt.Errorf("spec: tier %d", s.Tier)
	}
	if s.ID == "" {
		return errors.New("spec: no id")
	}
	for _, m := range s.Mounts {
		t := m.Target
		if !path.IsAbs(t) || path.Clean(t) != t || t == "/" || strings.IndexByte(t, 0) >= 0 {
			return fmt.Errorf("spec: mount target %q", m.Target)
		}
		switch m.Kind {
		case mountBind, mountOverlay, mountTmpfs, mountDevpts, mountSymlink, mountDir, mountText:
		default:
			return fmt.Errorf("spec: mount kind %q", m.Kind)
		}
		if m.FD < 0 || m.UpperFD < 0 || m.Size < 0 || slices.ContainsFunc(m.BelowFDs, func(fd int) bool { return fd < 0 }) {
			return errors.New("spec: negative number")
		}
	}
	return nil
}
