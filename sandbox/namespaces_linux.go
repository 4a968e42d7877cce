package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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

// launchOptions say how a supervisor's process is made.
type launchOptions struct {
	argv  []string // in place of the program itself; the stage's arguments are appended
	attr  *syscall.SysProcAttr
	files []*os.File // from descriptor 4 on; launch closes them
	hard  bool
}

// launch starts a supervisor and waits until it has walled itself in.
func launch(ctx context.Context, sp *spec, o launchOptions) (*guestSpawner, *facts, error) {
	defer closeFiles(o.files)
	hostEnd, guestEnd, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	complaint, err := os.CreateTemp("", "luthier-sandbox-log-*")
	if err != nil {
		closeFiles([]*os.File{hostEnd, guestEnd})
		return nil, nil, err
	}
	os.Remove(complaint.Name())
	defer complaint.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		closeFiles([]*os.File{hostEnd, guestEnd})
		return nil, nil, err
	}
	defer null.Close()
	argv := o.argv
	if argv == nil {
		argv = []string{"/proc/self/exe"}
	}
	sup, err := os.StartProcess(argv[0], append(argv, stageArg, stageSetup), &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none"}, Sys: o.attr,
		Files: append([]*os.File{null, null, complaint, guestEnd}, o.files...),
	})
	guestEnd.Close()
	if err != nil {
		hostEnd.Close()
		return nil, nil, explainClone(err)
	}
	c, err := newConn(hostEnd)
	if err == nil {
		var f *facts
		if f, err = greet(ctx, c, sp); err == nil {
			return newGuestSpawner(c, sup, o.hard, sp.marker()), f, nil
		}
		c.close()
	}
	_ = sup.Kill()
	_, _ = sup.Wait()
	if text := tail(complaint); text != "" {
		err = fmt.Errorf("%w (%s)", err, text)
	}
	return nil, nil, err
}

// greet sends the spec to both stages and waits for the second's report.
func greet(ctx context.Context, c *conn, sp *spec) (*facts, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.sock.Close() })
	defer stop()
	sp.ID = rand.Text()
	for range 2 {
		if err := c.tell(sp); err != nil {
			return nil, err
		}
	}
	r, err := c.listen()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("supervisor ended during set-up: %w", err)
	case r.Error != nil:
		return nil, r.Error
	case r.Event != evHello || r.Facts == nil:
		return nil, errors.New("supervisor did not report its walls")
	}
	return r.Facts, nil
}

// explainClone says what usually stands behind a refusal.
func explainClone(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("create namespaces: %w (user namespaces may be forbidden: see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("create namespaces: %w (the limit on namespaces is reached: see /proc/sys/user)", err)
	}
	return fmt.Errorf("create namespaces: %w", err)
}

func tail(f *os.File) string {
	const most = 512
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, max(0, fi.Size()-most), most))
	return strings.TrimSpace(string(b))
}

// ownerMaps makes user namespaces that map a directory's owner to the guest.
type ownerMaps struct {
	id  identity
	fds map[owner]*os.File
}

func (m *ownerMaps) close() {
	for _, f := range m.fds {
		f.Close()
	}
}

func (m *ownerMaps) get(path string) (int, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	st := fi.Sys().(*syscall.Stat_t)
	o := owner{int(st.Uid), int(st.Gid)}
	if f := m.fds[o]; f != nil {
		return int(f.Fd()), nil
	}
	f, err := mapNamespace(o, owner{m.id.outUID, m.id.outGID})
	if err != nil {
		return 0, fmt.Errorf("map owner of %s: %w", path, err)
	}
	m.fds[o] = f
	return int(f.Fd()), nil
}

// mapNamespace returns a user namespace in which from is mapped to to. It is
// born with a process that is stopped before its first instruction and killed
// when the namespace is held.
func mapNamespace(from, to owner) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	// A thread of its own, which ends here: a traced process belongs to it.
	go func() {
		lockThread()
		f, err := bornNamespace(from, to)
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func bornNamespace(from, to owner) (*os.File, error) {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"sandbox"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		Ptrace:      true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: from.uid, HostID: to.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: from.gid, HostID: to.gid, Size: 1}},
	}})
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "ns/user"))
	_ = unix.Kill(pid, unix.SIGKILL)
	for {
		var ws unix.WaitStatus
		if _, waitErr := unix.Wait4(pid, &ws, 0, nil); waitErr != unix.EINTR && (waitErr != nil || ws.Exited() || ws.Signaled()) {
			return f, err
		}
	}
}

// lockThread ties the goroutine to its thread, which ends with it.
func lockThread() { runtime.LockOSThread() }
