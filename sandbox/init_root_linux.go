package sandbox

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// newRootBase is where the new root is assembled before it becomes the root.
const newRootBase = "/tmp"

// stageDir is where an overlay's layers are mounted while the overlay is made.
const stageDir = "/.layers"

// script writes the calls by which a sandbox's init process sets up the namespaces it was created
// in. The sources of all mounts are already open.
type script struct {
	initproc.Script
	made map[string]bool // directories made so far

	filters *filterCache
	caps    int // number of capabilities to drop
}

var here = initproc.N(unix.AT_FDCWD)

// enterRoot brings loopback up, mounts a new /proc, and makes a root that contains only sp.Mounts.
func (s *script) enterRoot(sp *spec) {
	if !sp.HostNet {
		s.loopback()
	}
	name := s.String(sp.Hostname)
	s.Must("set host name", unix.SYS_SETHOSTNAME, name, initproc.N(len(sp.Hostname)))
	s.mount("make mounts private", "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	// All sources were opened while the old root was visible, and nothing is placed until it is
	// gone: a symbolic link in a workspace then leads nowhere.
	s.switchRoot()
	if !sp.HostNet {
		s.freePorts()
	}
	for i := range sp.Mounts {
		s.place(&sp.Mounts[i])
	}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(s.made))) {
		if within(dir, stageDir) {
			s.Must("remove "+dir, unix.SYS_UNLINKAT, here, s.String(dir), initproc.N(unix.AT_REMOVEDIR))
		}
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	s.Must("make root read-only", unix.SYS_MOUNT_SETATTR, here, s.String("/"), initproc.N(0), initproc.Value(&s.Script, &attr), initproc.N(unsafe.Sizeof(attr)))
}

// mount adds a call of mount(2).
func (s *script) mount(what, source, target, kind string, flags int, options string) {
	arg := func(text string) initproc.Arg {
		if text == "" {
			return initproc.N(0)
		}
		return s.String(text)
	}
	s.Must(what, unix.SYS_MOUNT, arg(source), s.String(target), arg(kind), initproc.N(flags), arg(options))
}

// loopback brings the interface up.
func (s *script) loopback() {
	var up [40]byte // struct ifreq
	copy(up[:], "lo")
	*(*uint16)(unsafe.Pointer(&up[unix.IFNAMSIZ])) = unix.IFF_UP | unix.IFF_RUNNING
	fd := s.Must("open a socket", unix.SYS_SOCKET, initproc.N(unix.AF_INET), initproc.N(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), initproc.N(0))
	s.Must("bring loopback up", unix.SYS_IOCTL, fd, initproc.N(unix.SIOCSIFFLAGS), s.Bytes(up[:]))
	s.May(unix.SYS_CLOSE, fd)
}

// freePorts lets every process inside use every port. If that fails, names of Config.Net can be
// reached only through the proxy. It uses the new /proc: a /proc that many processes see is slower,
// since a network's setting is looked up among those of all networks.
func (s *script) freePorts() {
	s.writeFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
}

// writeFile tries to write a file in /proc.
func (s *script) writeFile(name, text string) (bit uint64) {
	fd := s.May(unix.SYS_OPENAT, here, s.String(name), initproc.N(unix.O_WRONLY|unix.O_CLOEXEC))
	s.May(unix.SYS_WRITE, fd, s.String(text), initproc.N(len(text)))
	bit = s.Probe()
	s.May(unix.SYS_CLOSE, fd)
	return bit
}

// switchRoot replaces the root by an empty one with only /proc.
func (s *script) switchRoot() {
	s.mount("mount new root", "sandbox", newRootBase, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m")
	s.Must("make /proc", unix.SYS_MKDIRAT, here, s.String(newRootBase+"/proc"), initproc.N(0o755))
	// Do this while the old root is visible: the kernel allows a new /proc only if a complete one
	// is already visible.
	s.mount("mount /proc", "proc", newRootBase+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	s.Must("enter new root", unix.SYS_CHDIR, s.String(newRootBase))
	s.Must("pivot root", unix.SYS_PIVOT_ROOT, s.String("."), s.String("."))
	s.Must("detach old root", unix.SYS_UMOUNT2, s.String("."), initproc.N(unix.MNT_DETACH))
	s.Must("enter new root", unix.SYS_CHDIR, s.String("/"))
}

// procHidden lists the files of /proc that show what no namespace separates: the user's keys, and
// the kernel's memory, log and timers.
var procHidden = []string{"/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/kmsg", "/proc/sched_debug", "/proc/timer_list"}

// procReadOnly lists what is in /proc besides processes and can be written: settings of the kernel
// and of devices. No namespace separates most of them.
var procReadOnly = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi", "/proc/fs", "/proc/driver", "/proc/scsi", "/proc/asound", "/proc/pressure"}

// maskProc hides and protects these places. It comes after the settings that the sandbox gets.
func (s *script) maskProc() {
	for _, name := range procHidden {
		s.MustBut(unix.ENOENT, "hide "+name, unix.SYS_MOUNT, s.String("/dev/null"), s.String(name), initproc.N(0), initproc.N(unix.MS_BIND), initproc.N(0))
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for _, name := range procReadOnly {
		at := s.String(name)
		s.MustBut(unix.ENOENT, "bind "+name, unix.SYS_MOUNT, at, at, initproc.N(0), initproc.N(unix.MS_BIND|unix.MS_REC), initproc.N(0))
		s.MustBut(unix.ENOENT, "make "+name+" read-only", unix.SYS_MOUNT, initproc.N(0), at, initproc.N(0), initproc.N(flags), initproc.N(0))
	}
}

// place puts m into the root.
func (s *script) place(m *mount) {
	if m.Optional && m.Kind == mountBind && m.FD <= 0 {
		return
	}
	what := "mount " + m.Kind + " on " + m.Target
	if m.Kind == mountSymlink {
		s.mkdir(filepath.Dir(m.Target))
		s.Must(what, unix.SYS_SYMLINKAT, s.String(m.Source), here, s.String(m.Target))
		return
	}
	s.target(m)
	switch m.Kind {
	case mountBind:
		s.attach(what, m.FD, m.Target)
	case mountText:
		s.text(what, m)
	case mountOverlay:
		s.overlay(what, m)
	case mountTmpfs:
		s.mount(what, "tmpfs", m.Target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpfsOptions("1777", m.Size, inodesFor(m.Size)))
	case mountDevpts:
		s.mount(what, "devpts", m.Target, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,max=256")
	}
}

// tmpfsOptions returns the options of a tmpfs with these limits of bytes and inodes; zero is no
// limit.
func tmpfsOptions(mode string, size, inodes int64) string {
	return fmt.Sprintf("mode=%s,size=%d,nr_inodes=%d", mode, size, inodes)
}

// inodesFor returns the number of inodes for a tmpfs of a size: inodes take kernel memory that the
// size does not include.
func inodesFor(size int64) int64 {
	if size <= 0 {
		return 0
	}
	return max(size/4096, 1024)
}

// mkdir makes a directory and its parents, if they do not exist.
func (s *script) mkdir(dir string) {
	if dir == "/" || s.made[dir] {
		return
	}
	s.mkdir(filepath.Dir(dir))
	if s.made == nil {
		s.made = map[string]bool{}
	}
	s.made[dir] = true
	// If it cannot be made and does not exist, its use will fail with the reason.
	s.May(unix.SYS_MKDIRAT, here, s.String(dir), initproc.N(0o755))
}

// target makes the mount point of m.
func (s *script) target(m *mount) {
	if !m.File {
		s.mkdir(m.Target)
		return
	}
	s.mkdir(filepath.Dir(m.Target))
	fd := s.May(unix.SYS_OPENAT, here, s.String(m.Target), initproc.N(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC), initproc.N(0o644))
	s.May(unix.SYS_CLOSE, fd)
}

// attach attaches a detached mount to its target.
func (s *script) attach(what string, fd int, target string) {
	file := s.File(fd)
	s.Must(what, unix.SYS_MOVE_MOUNT, file, s.String(""), here, s.String(target), initproc.N(unix.MOVE_MOUNT_F_EMPTY_PATH))
	s.May(unix.SYS_CLOSE, file)
}

// text mounts a file of the root's own file system; the file's name is removed afterwards.
func (s *script) text(what string, m *mount) {
	s.mkdir(stageDir)
	name := s.String(stageDir + "/text")
	fd := s.Must(what, unix.SYS_OPENAT, here, name, initproc.N(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC), initproc.N(0o444))
	s.Must(what, unix.SYS_WRITE, fd, s.String(m.Source), initproc.N(len(m.Source)))
	s.May(unix.SYS_CLOSE, fd)
	tree := s.Must(what, unix.SYS_OPEN_TREE, here, name, initproc.N(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	s.Must(what, unix.SYS_MOUNT_SETATTR, tree, s.String(""), initproc.N(unix.AT_EMPTY_PATH), initproc.Value(&s.Script, &attr), initproc.N(unsafe.Sizeof(attr)))
	s.Must(what, unix.SYS_MOVE_MOUNT, tree, s.String(""), here, s.String(m.Target), initproc.N(unix.MOVE_MOUNT_F_EMPTY_PATH))
	s.May(unix.SYS_CLOSE, tree)
	s.Must(what, unix.SYS_UNLINKAT, here, name, initproc.N(0))
}

// overlay mounts Upper over the source. It first mounts the layers under fixed names, since a
// workspace's own name may contain characters that the options do not allow; the overlay then holds
// the layers itself.
func (s *script) overlay(what string, m *mount) {
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
		s.mkdir(dir)
		s.attach(what+": "+l.name, l.fd, dir)
	}
	// Remove the mark of the last volatile overlay over these directories. It prevents reuse, since
	// their state may not have reached the disk.
	left := stageDir + "/layer/work/work/incompat"
	s.May(unix.SYS_UNLINKAT, here, s.String(left+"/volatile/dirty"), initproc.N(0))
	s.May(unix.SYS_UNLINKAT, here, s.String(left+"/volatile"), initproc.N(unix.AT_REMOVEDIR))
	s.May(unix.SYS_UNLINKAT, here, s.String(left), initproc.N(unix.AT_REMOVEDIR))
	flags := unix.MS_NOSUID | unix.MS_NODEV
	if m.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	s.mount(what, "overlay", m.Target, "overlay", flags, strings.Join([]string{
		"lowerdir=" + lower + stageDir + "/lower", "upperdir=" + stageDir + "/layer/upper", "workdir=" + stageDir + "/layer/work", "userxattr",
		"volatile", // otherwise every unmount waits for the disk
	}, ","))
	for _, l := range layers {
		s.Must(what+": let go of "+l.name, unix.SYS_UMOUNT2, s.String(filepath.Join(stageDir, l.name)), initproc.N(unix.MNT_DETACH))
	}
}

// openSources opens the sources of mounts with the caller's view and rights.
func openSources(mounts []mount, openTree opener) error {
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
		if err != nil {
			m.FD = max(m.FD, 0)
			if !m.Optional {
				return fmt.Errorf("open %s: %w", m.Source, err)
			}
			if m.Kind == mountOverlay {
				m.Kind = mountDir // use a private, empty place instead
			}
		}
	}
	return nil
}

// makeTarget makes the mount point of m immediately.
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
