package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// ruleFD is the descriptor number of a rule's directory while the rule is added: a rule names it in
// a structure, which a script cannot fill in.
const ruleFD = 500

// addLandlock adds Landlock rules as a second line of defence: only paths that the spec mounts
// writable can be changed, even if a mount is writable by mistake or can be made so. They also
// confine signals and abstract sockets, which replaces the network namespace if there is none.
// Reading is left to the mounts alone.
//
// A sandbox that gets its workspace later has no rules for files: rules cannot be added later, and
// with new rules for each command no command could inspect the processes of another, as lsof and
// fuser do. The probe reports whether rules for files are in force.
func (s *script) addLandlock(sp *spec) (probe uint64) {
	version := landlockVersion()
	if version < landlockMinimum {
		return 0
	}
	attr := unix.LandlockRulesetAttr{}
	if !sp.Later {
		attr.Handled_access_fs = fsV3 &^ fsRead
	}
	if version >= landlockScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if attr == (unix.LandlockRulesetAttr{}) {
		return 0
	}
	set := s.Must("create Landlock ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, initproc.Value(&s.Script, &attr), initproc.N(unsafe.Sizeof(attr)), initproc.N(0))
	if !sp.Later {
		s.rule(set, "/dev", fsFile&^fsRead&attr.Handled_access_fs)
		s.rule(set, "/proc", fsFile&^fsRead&attr.Handled_access_fs)
		for _, m := range sp.Mounts {
			if access := m.changes(); access != 0 {
				s.rule(set, m.Target, access)
			}
		}
		s.May(unix.SYS_CLOSE, initproc.N(ruleFD))
	}
	s.Must("restrict by Landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, set, initproc.N(0))
	if !sp.Later {
		probe = s.Probe()
	}
	s.May(unix.SYS_CLOSE, set)
	return probe
}

// changes returns the rights to change the content of the mount.
func (m *mount) changes() uint64 {
	switch {
	case m.ReadOnly || m.Device || m.Optional && m.Kind == mountBind && m.FD <= 0:
		return 0
	case m.Kind == mountBind && m.File:
		return fsFile & fsV3 &^ fsRead
	case m.Kind == mountBind, m.Kind == mountOverlay, m.Kind == mountTmpfs:
		return fsWrite &^ fsRead
	}
	return 0
}

// rule allows access at and below a path.
func (s *script) rule(set initproc.Arg, path string, access uint64) {
	what := "allow changes to " + path
	fd := s.Must(what, unix.SYS_OPENAT, here, s.String(path), initproc.N(unix.O_PATH|unix.O_CLOEXEC))
	s.Must(what, unix.SYS_DUP3, fd, initproc.N(ruleFD), initproc.N(unix.O_CLOEXEC))
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: ruleFD}
	s.Must(what, unix.SYS_LANDLOCK_ADD_RULE, set, initproc.N(unix.LANDLOCK_RULE_PATH_BENEATH), initproc.Value(&s.Script, &beneath), initproc.N(0))
	s.May(unix.SYS_CLOSE, fd) // the last one stays open until here; each rule replaces the one before
}
