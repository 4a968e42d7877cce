package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rules are the accesses that Landlock allows (see the kernel's landlock.rst). Everything not named
// is refused.
type rules struct {
	Version int
	Read    []string
	Write   []string
	Devices []string
}

// landlockMinimum is the version from which truncation is restricted too; before it, any file that
// the user may write could be emptied.
const landlockMinimum = 3

const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fsV3    = unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1 // every right up to truncation
	fsWrite = fsV3 &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// landlockVersion returns the kernel's Landlock version; 0 means none.
func landlockVersion() int {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrict applies the rules to the calling thread and what it executes.
func (r *rules) restrict() error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fsV3}
	if r.Version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if r.Version >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if r.Version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// Set only fields that every version from landlockMinimum knows: an older kernel accepts a
	// longer structure if the rest is zero.
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: create ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, g := range []struct {
		paths  []string
		access uint64
	}{{r.Read, fsRead}, {r.Write, fsWrite}, {r.Devices, fsFile}} {
		for _, p := range g.paths {
			if err := allow(int(fd), p, g.access&attr.Handled_access_fs); err != nil {
				return fmt.Errorf("landlock: allow %s: %w", p, err)
			}
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fsFile // the other rights apply only to directories
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// startLandlock opens the workspace at TierLandlock.
func startLandlock(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if !hooked.Load() {
		return nil, ErrInit
	}
	version := landlockVersion()
	if version < landlockMinimum {
		return nil, fmt.Errorf("the kernel has Landlock version %d, at least %d is needed", version, landlockMinimum)
	}
	if !hasFilter {
		return nil, errors.New("no seccomp filter is written for this architecture, so the network would be open")
	}
	if err := ws.materialize(cfg); err != nil {
		return nil, err
	}
	r := &rules{Version: version, Write: []string{ws.sub(scratchTmp), ws.sub(scratchHome), ws.sub(scratchCache)}}
	if ws.readOnly {
		r.Read = append(r.Read, ws.dir)
	} else {
		r.Write = append(r.Write, ws.dir)
	}
	r.Write = append(r.Write, cfg.Writable...)
	r.Read = append(append(r.Read, readableSystem()...), cfg.ReadOnly...)
	r.Read = append(r.Read, "/proc", "/sys/kernel/mm/transparent_hugepage", "/sys/devices/system/cpu")
	for _, d := range devices {
		r.Devices = append(r.Devices, "/dev/"+d)
	}
	env := []string{"HOME=" + ws.sub(scratchHome), "TMPDIR=" + ws.sub(scratchTmp), "USER=sandbox", "LOGNAME=sandbox"}
	readable, toolEnv := plainToolchains(cfg, ws)
	r.Read, env = append(r.Read, readable...), append(env, toolEnv...)
	b := newBounds(cfg.Limits)
	sp := &spec{Tier: TierLandlock, Landlock: r, Sockets: socketsNone, Trace: cfg.TraceWrites, Watch: b.watch(cfg.Limits), Limits: cfg.Limits, Host: lookAtHost()}
	if exe, err := os.Executable(); err == nil {
		r.Read = append(r.Read, exe)
	}
	run, f, err := launch(ctx, sp, launchOptions{cgroups: b.group.Files(), attr: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		_ = b.group.Close()
		return nil, err
	}
	run.bounds = b
	id := hostIdentity()
	id.dropped, id.outUID, id.inUID = false, os.Geteuid(), os.Geteuid()
	env = mergeEnv(noPtraceEnv, filterEnv(os.Environ(), passedEnv, cfg.PassEnv), env, cfg.Env)
	return newLocal(ws, env, b.isolation(sp, f, id, cfg, ws), run), nil
}

// readableSystem returns systemDirs, with /etc entry by entry, so that entries that only root may
// read are not readable even for root.
func readableSystem() []string {
	var out []string
	for _, dir := range systemDirs {
		if dir != "/etc" {
			out = append(out, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fi, err := e.Info(); err == nil && fi.Mode().Perm()&0o004 != 0 {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}
