package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// newRootBase is where the new root is put together before it becomes one.
const newRootBase = "/tmp"

// stageDir is where an overlay's layers are mounted while it is being made.
const stageDir = "/.layers"

// enterRoot makes the namespaces this process was born into its own: loopback
// up, a fresh /proc, and a root of nothing but sp.Mounts.
func enterRoot(sp *spec) error {
	if os.Getpid() != 1 {
		return errors.New("not the first process of a PID namespace")
	}
	if !sp.HostNet {
		if err := loopbackUp(); err != nil {
			return fmt.Errorf("bring loopback up: %w", err)
		}
		openLowPorts()
	}
	if err := unix.Sethostname([]byte(sp.Hostname)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// All sources are opened before the old root goes out of sight, and nothing
	// is placed until it has: a symbolic link in a workspace then leads nowhere.
	if err := openSources(sp.Mounts); err != nil {
		return err
	}
	if err := switchRoot(); err != nil {
		return err
	}
	for _, m := range sp.Mounts {
		if err := m.place(); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Kind, m.Target, err)
		}
	}
	if err := maskProc(); err != nil {
		return err
	}
	limitPIDs(sp.Limits)
	if err := os.RemoveAll(stageDir); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr); err != nil {
		return fmt.Errorf("make root read-only: %w", err)
	}
	return nil
}

// maskProc hides what /proc tells of the user's keys, which no namespace keeps apart.
func maskProc() error {
	for _, name := range []string{"/proc/keys", "/proc/key-users"} {
		if err := unix.Mount("/dev/null", name, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("hide %s: %w", name, err)
		}
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

func openSources(mounts []mount) error {
	for i := range mounts {
		m := &mounts[i]
		var err error
		switch {
		case m.Kind == mountBind && m.FD == 0:
			m.FD, err = openTree(m.Source, treeOptions{readOnly: m.ReadOnly, device: m.Device, noFollow: m.Pinned})
		case m.Kind == mountOverlay && m.FD == 0:
			if m.FD, err = openTree(m.Source, treeOptions{readOnly: true}); err == nil {
				m.UpperFD, err = openTree(m.Upper, treeOptions{})
			}
			for _, dir := range m.Below {
				if err == nil {
					var fd int
					fd, err = openTree(dir, treeOptions{readOnly: true})
					m.BelowFDs = append(m.BelowFDs, fd)
				}
			}
		}
		if err != nil && !m.Optional {
			return fmt.Errorf("open %s: %w", m.Source, err)
		}
	}
	return nil
}

// switchRoot replaces the root by an empty one that has only /proc.
func switchRoot() error {
	if err := unix.Mount("sandbox", newRootBase, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
		return fmt.Errorf("mount new root: %w", err)
	}
	if err := os.Mkdir(newRootBase+"/proc", 0o755); err != nil {
		return err
	}
	// While the old one is visible: the kernel grants a new /proc only to those
	// who see a whole one already.
	if err := unix.Mount("proc", newRootBase+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return pivot()
}

// pivot makes what is mounted at newRootBase the root, and lets go of the old one.
func pivot() error {
	if err := unix.Chdir(newRootBase); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach old root: %w", err)
	}
	return unix.Chdir("/")
}

// place puts m into the new root.
func (m *mount) place() error {
	if m.Optional && m.Kind == mountBind && m.FD <= 0 {
		return nil
	}
	if m.Kind == mountSymlink {
		return os.Symlink(m.Source, m.Target)
	}
	if err := m.makeTarget(); err != nil {
		return err
	}
	switch m.Kind {
	case mountBind:
		return attach(m.FD, m.Target)
	case mountOverlay:
		return m.overlay()
	case mountTmpfs:
		opts := fmt.Sprintf("mode=1777,size=%d", m.Size)
		return unix.Mount("tmpfs", m.Target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts)
	case mountDevpts:
		return unix.Mount("devpts", m.Target, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	}
	return nil
}

func (m *mount) makeTarget() error {
	if !m.File {
		return os.MkdirAll(m.Target, 0o755)
	}
	if _, err := os.Lstat(m.Target); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(m.Target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.Target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// attach puts a detached mount in its place.
func attach(fd int, target string) error {
	err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	unix.Close(fd)
	return err
}

// overlay mounts Upper over the source. The layers are mounted under fixed names
// first, since a workspace's own name may hold what the options cannot.
func (m *mount) overlay() error {
	type layer struct {
		fd   int
		name string
	}
	layers, lower := []layer{{m.FD, "lower"}, {m.UpperFD, "layer"}}, ""
	for i, fd := range m.BelowFDs {
		layers = append(layers, layer{fd, strconv.Itoa(i)})
		lower += filepath.Join(stageDir, strconv.Itoa(i)) + ":"
	}
	for _, l := range layers {
		dir := filepath.Join(stageDir, l.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := attach(l.fd, dir); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		// The overlay keeps its own hold on the layers.
		defer unix.Unmount(dir, unix.MNT_DETACH)
	}
	opts := []string{
		"lowerdir=" + lower + stageDir + "/lower",
		"upperdir=" + stageDir + "/layer/upper", "workdir=" + stageDir + "/layer/work",
		"userxattr",
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if m.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	return unix.Mount("overlay", m.Target, "overlay", flags, strings.Join(opts, ","))
}
