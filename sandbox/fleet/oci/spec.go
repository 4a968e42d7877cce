package oci

import (
	"os"
	"path/filepath"
	"sort"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// spec is the part of the OCI runtime specification's config.json that is used here.
type spec struct {
	Version  string  `json:"ociVersion"`
	Process  process `json:"process"`
	Root     root    `json:"root"`
	Hostname string  `json:"hostname"`
	Mounts   []mount `json:"mounts"`
	Linux    linux   `json:"linux"`
}

type process struct {
	Terminal     bool                `json:"terminal"`
	User         user                `json:"user"`
	Args         []string            `json:"args"`
	Env          []string            `json:"env"`
	Cwd          string              `json:"cwd"`
	Capabilities map[string][]string `json:"capabilities"`
	Rlimits      []rlimit            `json:"rlimits"`
	NoNewPrivs   bool                `json:"noNewPrivileges"`
}

type user struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

type rlimit struct {
	Type string `json:"type"`
	Hard uint64 `json:"hard"`
	Soft uint64 `json:"soft"`
}

type root struct {
	Path     string `json:"path"`
	Readonly bool   `json:"readonly"`
}

type mount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type,omitempty"`
	Source      string   `json:"source,omitempty"`
	Options     []string `json:"options,omitempty"`
}

type linux struct {
	Namespaces    []namespace `json:"namespaces"`
	Resources     *resources  `json:"resources,omitempty"`
	MaskedPaths   []string    `json:"maskedPaths"`
	ReadonlyPaths []string    `json:"readonlyPaths"`
}

type namespace struct {
	Type string `json:"type"`
}

type resources struct {
	Memory *limit `json:"memory,omitempty"`
	Pids   *limit `json:"pids,omitempty"`
}

type limit struct {
	Limit int64 `json:"limit"`
}

// workspace is the path of the workspace in a container.
const workspace = "/workspace"

// bundle describes a container, except for the command.
type bundle struct {
	rootfs, dir string   // host paths of the empty root and of the workspace
	system      []string // host directories visible read-only at the same path
	uid, gid    int
	memory      int64
	pids        int64
}

// config returns the config.json of one command.
func (b *bundle) config(c *fleet.Command) *spec {
	none := map[string][]string{}
	for _, set := range []string{"bounding", "effective", "permitted", "inheritable", "ambient"} {
		none[set] = []string{}
	}
	cwd := workspace
	if c.Dir != "" {
		// Join to the root first, so that .. cannot leave the workspace.
		cwd = filepath.Join(workspace, filepath.Join("/", c.Dir))
	}
	s := &spec{
		Version: "1.0.2", Hostname: "sandbox", Root: root{b.rootfs, true},
		Process: process{
			User: user{b.uid, b.gid}, Args: c.Args, Cwd: cwd, Capabilities: none, NoNewPrivs: true,
			Env:     append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}, c.Env...),
			Rlimits: []rlimit{{"RLIMIT_NOFILE", 8192, 8192}, {"RLIMIT_CORE", 0, 0}},
		},
		Mounts: []mount{
			{"/proc", "proc", "proc", []string{"nosuid", "noexec", "nodev"}},
			{"/dev", "tmpfs", "tmpfs", []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
			{"/dev/shm", "tmpfs", "shm", []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
			{"/tmp", "tmpfs", "tmpfs", []string{"nosuid", "nodev", "mode=1777"}},
		},
		Linux: linux{
			MaskedPaths:   []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list"},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	for _, ns := range []string{"pid", "network", "ipc", "uts", "mount"} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, namespace{ns})
	}
	for _, dir := range b.system {
		s.Mounts = append(s.Mounts, mount{dir, "bind", dir, []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	s.Mounts = append(s.Mounts, mount{workspace, "bind", b.dir, []string{"rbind", "rw", "nosuid", "nodev"}})
	if b.memory > 0 || b.pids > 0 {
		s.Linux.Resources = &resources{}
		if b.memory > 0 {
			s.Linux.Resources.Memory = &limit{b.memory}
		}
		if b.pids > 0 {
			s.Linux.Resources.Pids = &limit{b.pids}
		}
	}
	return s
}

// makeRoot creates in an empty directory the mount points, and the symbolic links that this system
// has instead of directories, such as /bin. It returns the directories to mount.
func makeRoot(dir string) (system []string, err error) {
	for _, d := range []string{"proc", "dev", "tmp", "workspace", "etc"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ssl"} {
		fi, err := os.Lstat(d)
		switch {
		case err != nil:
			continue
		case fi.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(d)
			if err == nil {
				err = os.Symlink(to, filepath.Join(dir, d))
			}
			if err != nil {
				return nil, err
			}
		case fi.IsDir():
			if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
				return nil, err
			}
			system = append(system, d)
		}
	}
	sort.Strings(system)
	return system, nil
}
