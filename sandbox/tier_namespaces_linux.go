package sandbox

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

const (
	// rootGuestUID is the user that commands run as if the host is root. It owns nothing, and is
	// from the range that systemd's UIDS-GIDS documentation lists as unused. Inside it appears as
	// guestUID.
	rootGuestUID = 1879048292
	guestUID     = 1000
)

// setupCaps lists the capabilities that a supervisor needs, over its own namespaces only, until it
// has set up its isolation. Those about files are for the overlay, which keeps acting with the
// rights of the process that mounted it.
var setupCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP,
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID,
}

// identity is the user of commands, as seen inside and by the host.
type identity struct {
	inUID, inGID   int
	outUID, outGID int
	dropped        bool // the host is root and commands are not
}

func hostIdentity() identity {
	if os.Geteuid() == 0 {
		return identity{inUID: guestUID, inGID: guestUID, outUID: rootGuestUID, outGID: rootGuestUID, dropped: true}
	}
	uid, gid := os.Geteuid(), os.Getegid()
	return identity{inUID: uid, inGID: gid, outUID: uid, outGID: gid}
}

// startNamespaces opens the workspace at TierNamespaces. A snapshot is an overlay if the kernel
// allows one, otherwise a copy.
func startNamespaces(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if !hooked.Load() {
		return nil, ErrInit
	}
	id := hostIdentity()
	var who *tree.Owner
	if id.dropped {
		who = &tree.Owner{UID: id.outUID, GID: id.outGID}
	}
	ws.overlay = !ws.inPlace() && ws.source == "" // a snapshot that was copied once stays a copy
	l, err := tryNamespaces(ctx, cfg, ws, id, who)
	if err == nil || !ws.overlay || ctx.Err() != nil {
		return l, err
	}
	ws.overlay, ws.owner = false, who
	if copyErr := ws.copyOut(); copyErr != nil {
		return nil, errors.Join(err, copyErr)
	}
	return tryNamespaces(ctx, cfg, ws, id, who)
}

func tryNamespaces(ctx context.Context, cfg *Config, ws *workspace, id identity, who *tree.Owner) (*local, error) {
	r, err := raise(ctx, cfg, ws, id, who, false)
	if err != nil {
		return nil, err
	}
	return newLocal(ws, r.plan.env, r.iso, r.run), nil
}

// raised is a running supervisor with its isolation set up.
type raised struct {
	plan *plan
	iso  Isolation
	run  *guestSpawner
}

// raise starts a supervisor over ws. If keep is set, its mounts can be changed later.
func raise(ctx context.Context, cfg *Config, ws *workspace, id identity, who *tree.Owner, keep bool) (*raised, error) {
	if err := ws.limit(ctx, cfg); err != nil {
		return nil, err
	}
	p, err := makePlan(cfg, ws, id.inUID, id.inGID)
	if err != nil {
		return nil, err
	}
	p.keyed(ws.disk)
	if err := ws.own(who); err != nil {
		return nil, err
	}
	b := newBounds(cfg.Limits)
	sp := &spec{Tier: TierNamespaces, Root: true, Later: keep, Mounts: p.mounts, Hostname: "sandbox", Limits: cfg.Limits, Trace: cfg.TraceWrites, Watch: b.watch(cfg.Limits)}
	if cfg.hostNet {
		sp.shareNetwork()
	}
	run, f, err := launch(ctx, sp, launchOptions{cgroups: b.group.Files(), broker: &spawnOrder{
		User: id.wire(), Owned: p.ownedList(), Scratch: cfg.ScratchDir, Keep: keep,
	}})
	if err != nil {
		_ = b.group.Close()
		return nil, err
	}
	run.bounds = b
	return &raised{plan: p, iso: b.isolation(sp, f, id, cfg, ws), run: run}, nil
}

// ownedList returns owned in the form used on the wire.
func (p *plan) ownedList() []int { return slices.Sorted(maps.Keys(p.owned)) }

func lookAtHost() hostView {
	return hostView{Namespaces: namespaces(), UID: os.Geteuid()}
}

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
