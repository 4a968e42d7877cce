package sandbox

import (
	"context"
	"errors"
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
