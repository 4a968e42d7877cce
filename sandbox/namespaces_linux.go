package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rungs are the isolating tiers, strongest first.
func rungs() []rung {
	return []rung{
		{TierNamespaces, startNamespaces},
		{TierBubblewrap, startBubblewrap},
		{TierLandlock, startLandlock},
	}
}

const (
	// rootGuestUID is the user commands run as when the host is root: one that
	// owns nothing, from the range that systemd's UIDS-GIDS documentation lists as
	// unused. Inside it appears as guestUID.
	rootGuestUID = 1879048292
	guestUID     = 1000
)

// setupCaps are what a supervisor needs, over its own namespaces only, until it
// has walled itself in. Those about files are the overlay's: it goes on to act
// with the rights of who mounted it.
var setupCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP,
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID,
}

// identity is who commands are, inside and to the host.
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

// startNamespaces opens the workspace at TierNamespaces. A snapshot is an
// overlay if the kernel grants one, else a copy.
func startNamespaces(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if !hooked.Load() {
		return nil, ErrInit
	}
	id := hostIdentity()
	var who *owner
	if id.dropped {
		who = &owner{id.outUID, id.outGID}
	}
	ws.overlay = !ws.inPlace()
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

func tryNamespaces(ctx context.Context, cfg *Config, ws *workspace, id identity, who *owner) (*local, error) {
	p, err := makePlan(cfg, ws, id.inUID, id.inGID)
	if err != nil {
		return nil, err
	}
	if err := ws.own(who); err != nil {
		return nil, err
	}
	sp := &spec{Tier: TierNamespaces, Root: true, Mounts: p.mounts, Hostname: "sandbox", Limits: cfg.Limits, Host: lookAtHost()}
	sp.Exe, _ = os.Executable()
	var files []*os.File
	if id.dropped {
		// The unprivileged user could not reach the sources by their paths.
		files, err = openForGuest(p, sp, id)
		if err != nil {
			return nil, err
		}
	}
	attr := &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: id.inUID, HostID: id.outUID, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: id.inGID, HostID: id.outGID, Size: 1}},
		GidMappingsEnableSetgroups: id.dropped,
		AmbientCaps:                setupCaps,
	}
	if id.dropped {
		attr.Credential = &syscall.Credential{Uid: uint32(id.inUID), Gid: uint32(id.inGID)}
	}
	run, f, err := launch(ctx, sp, launchOptions{attr: attr, files: files, hard: true})
	if err != nil {
		return nil, err
	}
	return newLocal(ws, p.env, f.isolation(sp, id), run), nil
}

// openForGuest opens every source with the host's rights and hands the owners of
// what the host named over to the guest's user, by id-mapped mounts.
func openForGuest(p *plan, sp *spec, id identity) (files []*os.File, err error) {
	maps := ownerMaps{id: id, fds: map[owner]*os.File{}}
	defer maps.close()
	defer func() {
		if err != nil {
			closeFiles(files)
		}
	}()
	pass := func(fd int) int {
		files = append(files, os.NewFile(uintptr(fd), "mount"))
		return controlFD + len(files)
	}
	for i := range p.mounts {
		m := &p.mounts[i]
		if m.Kind != mountBind && m.Kind != mountOverlay {
			continue
		}
		o := treeOptions{readOnly: m.ReadOnly || m.Kind == mountOverlay, device: m.Device}
		if p.owned[i] {
			if o.userNS, err = maps.get(m.Source); err != nil {
				return files, err
			}
		}
		fd, err := openTree(m.Source, o)
		if err != nil {
			if m.Optional {
				m.Kind = mountDir // a private, empty cache instead
				continue
			}
			return files, fmt.Errorf("open %s: %w", m.Source, err)
		}
		m.FD = pass(fd)
		if m.Kind == mountOverlay {
			if fd, err = openTree(m.Upper, treeOptions{}); err != nil {
				return files, fmt.Errorf("open %s: %w", m.Upper, err)
			}
			m.UpperFD = pass(fd)
		}
	}
	if fd, err := openTree("/proc/self/exe", treeOptions{readOnly: true}); err == nil {
		sp.ExeFD = pass(fd)
	}
	return files, nil
}

func lookAtHost() hostView {
	return hostView{Namespaces: namespaces(), UID: os.Geteuid()}
}
