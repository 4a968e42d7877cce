package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Config says what a sandbox holds and how much isolation it must have. Exactly
// one of Dir and Snapshot is required; every other zero value is a safe default.
type Config struct {
	// Dir is a directory to work on in place: commands change the real files.
	Dir string
	// Snapshot is a starting state of which commands get a private copy.
	Snapshot Snapshot
	// ReadOnlyDir makes the workspace itself read-only for commands.
	ReadOnlyDir bool

	// Floor is the lowest tier accepted; zero means TierNamespaces. A host that
	// sets TierNone accepts to run commands with no isolation at all.
	Floor Tier
	// Ceiling is the highest tier tried; zero means the best. Ceiling TierNone
	// with Floor TierNone gives plain processes.
	Ceiling Tier

	// ReadOnly are further host paths commands may read, at the same path.
	ReadOnly []string
	// Writable are further host directories commands may change, at the same
	// path. They are changed in place, also when the workspace is a snapshot.
	Writable []string
	// NoToolchains leaves out the tool chains otherwise detected from the host's
	// environment and customary places (Go, Rust, pyenv, nvm, ...), with a private
	// layer over the Go build cache.
	NoToolchains bool

	// Net are the hosts that commands may reach, through a proxy that knows TLS and
	// HTTP only: "example.com" and "*.example.com" at ports 80 and 443, or
	// "example.com:8443" at one port, which any protocol may use. Empty means none.
	// A name may lead to a public address only, unless a range such as
	// "10.1.0.0/16" is listed too. Commands are told of the proxy by HTTP_PROXY and
	// its like. A listed host is trusted with all that commands can read.
	Net []string

	// Env is added to the scrubbed environment of every command, as KEY=value.
	Env []string
	// PassEnv names host variables to pass on beyond the default allow-list. A
	// trailing * matches a prefix.
	PassEnv []string

	// Unprotect names what commands may change of the things in a workspace in
	// place that the host executes later or acts on by itself, such as ".git",
	// ".vscode" or ".envrc"; "*" is all of them. What there is of these when the
	// sandbox opens is read-only otherwise, at the tiers that have mounts. With
	// ".git" commands can commit, while hooks and configuration stay as they are
	// unless they are named too; use Review before the host's git runs there.
	Unprotect []string

	// Layers is where checked-out commits are kept and shared, so that the second
	// sandbox over a commit starts without checking it out. Nil keeps none.
	Layers *Layers

	// TraceWrites lists refused writes among Exit.Denials, with their paths. Every
	// call that could change a file is then a round trip to the supervisor, which
	// on a busy machine waits its turn (BenchmarkEvidence). Without it a refused
	// write is only seen by the command itself.
	TraceWrites bool

	hostNet bool // the network stays the host's, see TierHostNet

	// Limits bound every process.
	Limits Limits
	// ScratchDir is where the sandbox keeps its private /tmp, home and overlay;
	// empty means os.TempDir().
	ScratchDir string
}

// Limits bound resources. Zero means the default, a negative value no limit.
type Limits struct {
	// Memory is the most private writable memory of one process, in bytes
	// (RLIMIT_DATA: address space is not limited, which would break Go, Node
	// and Java). Default: none.
	Memory int64
	// Processes is the most processes and threads of the sandbox (RLIMIT_NPROC,
	// counted for the sandbox alone from Linux 5.14). Default 4096.
	Processes int64
	// MemoryTotal is the most memory of the whole sandbox, in bytes: by a control
	// group, or where none can be made by a watchdog that ends all commands when
	// it is passed (TierNamespaces only). Exit.Exceeded tells. Default: none.
	MemoryTotal int64
	// CPU is how many processors' worth of time the whole sandbox gets, such as
	// 1.5. It needs a control group. Default: all there are.
	CPU float64
	// Files is the most open descriptors of one process. Default 8192.
	Files int64
	// FileSize is the largest file one process may write, in bytes. Default: none.
	FileSize int64
	// SharedMemory is the size of /dev/shm in bytes, and the most that System V
	// segments may take beside it (if the host is root: nobody else may set that).
	// Default 256 MiB.
	SharedMemory int64
	// Disk is the most, in bytes, that commands may write to private files: changes
	// to a snapshot, /tmp, home and caches, together and with those of all forks. A
	// write beyond it fails with ENOSPC. The files are then kept in memory, where
	// alone a size can be bounded without the disk's owner (tmpfs, Linux 6.6), and
	// count towards MemoryTotal where a control group keeps that: choose it for what
	// a build leaves, not for what a disk holds. Directories in place are not
	// limited, nor are lower tiers. Default: none, on the scratch directory's disk;
	// a ScratchDir on a file system of its own bounds all sandboxes over it.
	Disk int64
	// Inodes is the most files and directories there may be on Disk. Default one for
	// every 4 KiB of it.
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

// normalize fills defaults, makes paths absolute and free of symbolic links,
// and reports the first field that is wrong.
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
	if err := checkUnprotect(c.Unprotect); err != nil {
		return c, err
	}
	if c.Dir != "" {
		dir, err := resolveDir("Config.Dir", c.Dir)
		if err != nil {
			return c, err
		}
		c.Dir = dir
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

// resolveDir also refuses what is no directory and directories whose being
// writable would undo the sandbox.
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

// isSystemDir reports directories that hold the system itself or every project.
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
