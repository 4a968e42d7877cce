package sandbox

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// spec is what a supervisor needs to know to wall itself in. It is the first
// frame on the control socket.
type spec struct {
	Tier     Tier     `json:"tier"`
	Root     bool     `json:"root"` // build an own root from Mounts
	Mounts   []mount  `json:"mounts,omitempty"`
	Exe      string   `json:"exe,omitempty"` // the program's path, where it must be opened inside
	ExeFD    int      `json:"exeFD"`         // or an open mount of it
	Hostname string   `json:"hostname,omitempty"`
	Landlock *rules   `json:"landlock,omitempty"`
	NoInet   bool     `json:"noInet,omitempty"` // seccomp refuses sockets altogether
	Limits   Limits   `json:"limits"`
	Host     hostView `json:"host"`
}

// hostView is what the host looks like to itself, to compare with.
type hostView struct {
	Namespaces map[string]string `json:"namespaces"` // name → identity
	UID        int               `json:"uid"`
}

// mount is one thing to put into the new root.
type mount struct {
	Kind     string `json:"kind"`
	Target   string `json:"target"`
	Source   string `json:"source,omitempty"` // bind: host path, unless FD is open; symlink: target
	FD       int    `json:"fd,omitempty"`     // bind, overlay: detached mount made by the host
	UpperFD  int    `json:"upperFD,omitempty"`
	Upper    string `json:"upper,omitempty"` // overlay: host directory with upper and work
	ReadOnly bool   `json:"readOnly,omitempty"`
	File     bool   `json:"file,omitempty"` // bind of a file
	Device   bool   `json:"device,omitempty"`
	Size     int64  `json:"size,omitempty"` // tmpfs, in bytes
	Optional bool   `json:"optional,omitempty"`
}

// The kinds of mount.
const (
	mountBind    = "bind"
	mountOverlay = "overlay"
	mountTmpfs   = "tmpfs"
	mountDevpts  = "devpts"
	mountSymlink = "symlink"
	mountDir     = "dir"
)

// check refuses a spec that no host of this version writes; it guards the
// supervisor against a program that runs itself with the stage's arguments.
func (s *spec) check() error {
	if !s.Tier.valid() || s.Tier == TierNone {
		return fmt.Errorf("spec: tier %d", s.Tier)
	}
	for _, m := range s.Mounts {
		if !path.IsAbs(m.Target) || path.Clean(m.Target) != m.Target || m.Target == "/" || strings.IndexByte(m.Target, 0) >= 0 {
			return fmt.Errorf("spec: mount target %q", m.Target)
		}
		switch m.Kind {
		case mountBind, mountOverlay, mountTmpfs, mountDevpts, mountSymlink, mountDir:
		default:
			return fmt.Errorf("spec: mount kind %q", m.Kind)
		}
		if m.FD < 0 || m.UpperFD < 0 || m.Size < 0 {
			return errors.New("spec: negative number")
		}
	}
	return nil
}
