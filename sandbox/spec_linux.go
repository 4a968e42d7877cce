package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// spec is what a supervisor needs to know to wall itself in. It is the first
// frame on the control socket.
type spec struct {
	ID       string // tells this sandbox's processes from those of others
	Tier     Tier
	Root     bool // build an own root from Mounts
	Mounts   []mount
	Later    bool // a workspace comes later
	Hostname string
	Landlock *rules
	Sockets  socketRule // those that seccomp lets through
	HostNet  bool       // no network namespace: seccomp and Landlock stand in for it
	Watch    int64      // the memory of all that the supervisor must watch itself, or 0
	Trace    bool       // refused writes are evidence too
	Notify   int        // the seccomp listener; known to the serving stage only
	Limits   Limits
	Host     hostView
}

// hostView is what the host looks like to itself, to compare with.
type hostView struct {
	Namespaces map[string]string // name → identity
	UID        int
}

// mount is one thing to put into the new root.
type mount struct {
	Kind     string
	Target   string
	Source   string // bind: host path, unless FD is open; symlink: target; text: what the file says
	FD       int    // bind, overlay: detached mount made by the host
	UpperFD  int
	Upper    string   // overlay: host directory with upper and work
	Below    []string // overlay: read-only layers between upper and source, newest first
	BelowFDs []int    // or open mounts of them
	ReadOnly bool
	File     bool // bind of a file
	Device   bool
	Size     int64 // tmpfs, in bytes
	Optional bool
	Key      string // overlay: what was retained under it serves as well, see mountOrder.Retain
	Pinned   bool   // bind: the source is in a directory that commands write, so its last name is not followed
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

// marker is the beginning of an environment entry that every command has.
func (s *spec) marker() string { return markerEnv + "=" + s.ID + "." }

// check refuses a spec that no host of this version writes; it guards the
// supervisor against a program that runs itself with the stage's arguments.
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
