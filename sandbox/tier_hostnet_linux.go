package sandbox

import (
	"context"
	"errors"
)

// startHostNet opens the workspace at TierHostNet. Mounts hide the host's Unix sockets that are
// files. Those with abstract names remain: they belong to the network namespace, which is the
// host's.
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

// shareNetwork makes seccomp and, where possible, Landlock replace the network namespace.
func (s *spec) shareNetwork() {
	s.Tier, s.HostNet, s.Sockets = TierHostNet, true, socketsNone
	if landlockVersion() >= landlockScopes {
		s.Sockets = socketsUnix
	}
}

// landlockScopes is the Landlock version from which abstract Unix sockets can be confined.
const landlockScopes = 6
