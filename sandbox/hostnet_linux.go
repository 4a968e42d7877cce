package sandbox

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startHostNet opens the workspace at TierHostNet. Mounts keep the host's Unix
// sockets out of reach as files; what is left are those with abstract names,
// which belong to the network namespace and so are the host's.
func startHostNet(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if !hasFilter {
		return nil, errors.New("no seccomp filter is written for this architecture, so the network would be open")
	}
	if len(cfg.Net) > 0 {
		return nil, errors.New("Config.Net needs a network namespace")
	}
	other := *cfg
	other.hostNet = true
	return startNamespaces(ctx, &other, ws)
}

// shareNetwork puts seccomp, and Landlock where it can, in the place of the
// network namespace.
func (s *spec) shareNetwork() {
	s.Tier, s.HostNet, s.Sockets = TierHostNet, true, socketsNone
	if landlockVersion() >= landlockScopes {
		s.Sockets = socketsUnix
	}
}

// landlockScopes is the version that confines abstract Unix sockets.
const landlockScopes = 6

// keepSocketsInside lets the thread, and what it executes, connect to no abstract
// socket that was made by others.
func keepSocketsInside() error {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: create ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}
