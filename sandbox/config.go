package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Config configures what a sandbox contains and how much isolation it must have. Exactly one of Dir
// and Snapshot is required; every other zero value is a safe default.
type Config struct {
	// Dir is a directory to work on in place: commands change the real files.
	Dir string
	// Snapshot is a starting state; commands get a private copy of it.
	Snapshot Snapshot
	// ReadOnlyDir makes the workspace itself read-only for commands.
	ReadOnlyDir bool

	// Floor is the lowest tier accepted; zero means TierNamespaces. A host that sets TierNone
	// agrees to run commands with no isolation at all.
	Floor Tier
	// Ceiling is the highest tier tried; zero means the best. Ceiling TierNone
	// with Floor TierNone gives plain processes.
	Ceiling Tier

	// ReadOnly lists further host paths that commands may read, at the same path. The git directory
	// of a linked work tree, a submodule or git's --separate-git-dir need not be named.
	ReadOnly []string
	// Writable lists further host directories that commands may change, at the same path. They are
	// changed in place, even if the workspace is a snapshot.
	Writable []string
	// NoToolchains leaves out the tool chains that are otherwise detected from the host's
	// environment and the usual places (Go, Rust, pyenv, nvm, ...), with a private layer over the
	// Go build cache.
	NoToolchains bool

	// Net lists the hosts that commands may reach, through a proxy that knows only TLS and HTTP:
	// "example.com" and "*.example.com" at ports 80 and 443, or "example.com:8443" at one port,
	// which any protocol may use. Empty means none. A name may resolve only to a public address,
	// unless a range such as "10.1.0.0/16" is listed too. Commands find the proxy by HTTP_PROXY and
	// similar variables. A listed host is trusted with all that commands can read.
	Net []string

	// Env is added to the scrubbed environment of every command, as KEY=value.
	Env []string
	// PassEnv names host variables to pass on beyond the default allow-list. A
	// trailing * matches a prefix.
	PassEnv []string

	// Unprotect names things in a workspace in place that commands may change although the host
	// executes them later or acts on them by itself, such as ".git", ".vscode", ".envrc" or
	// "AGENTS.md"; "*" is all of them. All others that exist when the sandbox opens are read-only,
	// at the tiers that have mounts: those at the top, what the host's git takes from the
	// workspace, and every .git. With ".git" commands can commit, while hooks and configuration
	// stay read-only unless they are named too; use Review before the host's git runs there.
	Unprotect []string

	// Layers is the store where checked-out commits are kept and shared, so that the second sandbox
	// over a commit starts without checking it out. Nil keeps none.
	Layers *Layers

	// TraceWrites lists refused writes in Exit.Denials, with their paths. Every call that could
	// change a file then needs a round trip to the supervisor, which may have to wait for a
	// processor on a busy machine (BenchmarkEvidence). Without TraceWrites only the command itself
	// sees a refused write.
	TraceWrites bool

	hostNet bool // keep the host's network, see TierHostNet

	// Limits bound every process.
	Limits Limits
	// ScratchDir is where the sandbox keeps its private /tmp, home and overlay;
	// empty means os.TempDir().
	ScratchDir string
}

// Limits bound resources. Zero means the default, a negative value no limit.
type Limits struct {
	// Memory limits the private writable memory of one process, in bytes (RLIMIT_DATA: a limit of
	// the address space would break Go, Node and Java). Programs built with the address or thread
	// sanitizer do not start under it, since they reserve terabytes; use MemoryTotal for them.
	// Default: none.
	Memory int64
	// Processes limits the number of processes and threads of the sandbox (RLIMIT_NPROC, counted
	// for the sandbox alone from Linux 5.14). Default 4096.
	Processes int64
	// MemoryTotal limits the memory of the whole sandbox, in bytes. It is enforced by a control
	// group or, if none can be made, by a watchdog that ends all commands when the limit is
	// exceeded (TierNamespaces only). The watchdog counts processes, shared memory, anonymous files
	// and what waits in sockets. Exit.Exceeded reports it. Default: none.
	MemoryTotal int64
	// CPU limits the processor time of the whole sandbox, as a number of processors such as 1.5. It
	// needs a control group. Default: all processors.
	CPU float64
	// Files limits the open descriptors of one process. Default 8192.
	Files int64
	// FileSize is the largest file one process may write, in bytes. Default: none.
	FileSize int64
	// SharedMemory is the size of /dev/shm in bytes, and also the separate limit for System V
	// segments (if the host is root: nobody else may set that). Default 256 MiB.
	SharedMemory int64
	// Disk limits, in bytes, what commands may write to private files: changes to a snapshot, /tmp,
	// home and caches, together and with those of all forks. A write beyond the limit fails with
	// ENOSPC. The files are then kept in memory (tmpfs, Linux 6.6), the only place where a size can
	// be limited without the disk's owner. They count towards MemoryTotal if a control group
	// enforces that, so choose Disk for what a build leaves, not for what a disk holds. Directories
	// in place are not limited, nor are lower tiers. Default: none, on the scratch directory's
	// disk; a ScratchDir on a separate file system bounds all sandboxes over it.
	Disk int64
	// Inodes limits the number of files and directories on Disk. Default one for every 4 KiB of it.
	Inodes int64
}

const (
	defaultProcesses    = 4096
	defaultFiles        = 8192
	defaultSharedMemory = 256 << 20
)

func (l Limits) normalize() Limits {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.Memory, -1)
	def(&l.MemoryTotal, -1)
	def(&l.Processes, defaultProcesses)
	def(&l.Files, defaultFiles)
	def(&l.FileSize, -1)
	def(&l.SharedMemory, defaultSharedMemory)
	def(&l.Disk, -1)
	if l.Disk > 0 {
		def(&l.Inodes, max(l.Disk/4096, 1024))
	}
	return l
}

// normalize fills in defaults, makes paths absolute and free of symbolic links, and reports the
// first field that is wrong.
func (c Config) normalize() (Config, error) {
	if (c.Dir == "") == c.Snapshot.isZero() {
		return c, errors.New("Config needs exactly one of Dir and Snapshot")
	}
	if c.Floor == 0 {
		c.Floor = TierNamespaces
	}
	if c.Ceiling == 0 {
		c.Ceiling = TierNamespaces
	}
	if !c.Floor.valid() || !c.Ceiling.valid() {
		return c, fmt.Errorf("Config.Floor %d or Config.Ceiling %d is no tier", c.Floor, c.Ceiling)
	}
	if c.Ceiling < c.Floor {
		return c, fmt.Errorf("Config.Ceiling %v is below Config.Floor %v", c.Ceiling, c.Floor)
	}
	if c.Limits.Inodes > 0 && c.Limits.Disk <= 0 {
		return c, errors.New("Config.Limits.Inodes needs Disk, whose inodes it counts")
	}
	c.Limits = c.Limits.normalize()
	if c.Dir != "" {
		dir, err := resolveDir("Config.Dir", c.Dir)
		if err != nil {
			return c, err
		}
		c.Dir = dir
	}
	if err := checkUnprotect(c.Dir, c.Unprotect); err != nil {
		return c, err
	}
	c.ReadOnly = append([]string(nil), c.ReadOnly...)
	for i, p := range c.ReadOnly {
		abs, err := resolve("Config.ReadOnly", p)
		if err != nil {
			return c, err
		}
		c.ReadOnly[i] = abs
	}
	c.Writable = append([]string(nil), c.Writable...)
	for i, p := range c.Writable {
		abs, err := resolveDir("Config.Writable", p)
		if err != nil {
			return c, err
		}
		c.Writable[i] = abs
	}
	if err := checkNet(c.Net); err != nil {
		return c, err
	}
	c.Net = append([]string(nil), c.Net...)
	for _, kv := range c.Env {
		if i := strings.IndexByte(kv, '='); i < 1 || strings.IndexByte(kv, 0) >= 0 {
			return c, fmt.Errorf("Config.Env entry %q is not KEY=value", kv)
		}
	}
	if c.ScratchDir == "" {
		c.ScratchDir = os.TempDir()
	}
	scratch, err := resolveDir("Config.ScratchDir", c.ScratchDir)
	if err != nil {
		return c, err
	}
	c.ScratchDir = scratch
	for _, dir := range append(c.Writable, c.Dir) {
		if dir != "" && within(scratch, dir) {
			return c, fmt.Errorf("Config.ScratchDir %q is in %q, which commands may change; name another", scratch, dir)
		}
	}
	return c, nil
}

func resolve(field, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", field, path, err)
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", field, path, err)
	}
	return abs, nil
}

// resolveDir resolves a directory. It refuses paths that are not directories, and directories that
// would undo the sandbox if they were writable.
func resolveDir(field, path string) (string, error) {
	abs, err := resolve(field, path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", field, path, err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("%s %q is not a directory", field, path)
	}
	if field != "Config.ScratchDir" && isSystemDir(abs) {
		return "", fmt.Errorf("%s %q is a system directory; name a project directory below it", field, path)
	}
	return abs, nil
}

// isSystemDir reports whether a directory holds the system itself or all projects.
func isSystemDir(dir string) bool {
	if dir == filepath.VolumeName(dir)+string(filepath.Separator) {
		return true
	}
	if runtime.GOOS == "windows" {
		return false
	}
	switch dir {
	case "/home", "/root", "/var", "/tmp", "/run", "/opt", "/mnt", "/srv", "/media", "/Users", "/Applications":
		return true
	}
	for _, src := range []string{"/usr/src", "/usr/local/src"} { // where images keep a project
		if dir != src && within(dir, src) {
			return false
		}
	}
	for _, sys := range []string{"/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/System", "/Library"} {
		if within(dir, sys) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or below it; both are clean and absolute.
func within(path, dir string) bool {
	if path == dir || dir == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}
