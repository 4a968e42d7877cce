// Package oci runs a fleet's commands in containers of an installed OCI runtime: runsc (gVisor),
// which has its own kernel in user space, or crun, runc and others.
//
// A box is a workspace, copied from a directory. Every command in a box runs in a new container,
// without network and capabilities, as an unprivileged user, and sees the system's directories
// read-only. Processes that a command leaves behind end together with the command.
package oci

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
	"github.com/luthier-dev/luthier/sandbox/fleet/internal/headtail"
)

// Config configures the runtime and its use.
type Config struct {
	// Runtime is the program, such as "runsc"; it is looked up in PATH.
	Runtime string
	// Flags precede the runtime's command, such as "--platform=systrap".
	Flags []string
	// Snapshots maps the names of snapshots to the directories from which workspaces are copied.
	// The empty name means an empty workspace unless it is listed.
	Snapshots map[string]string
	// Scratch is the directory for workspaces and the runtime's state; empty means os.TempDir().
	Scratch string
	// UID and GID are the user and group that commands run as; zero means 65534.
	UID, GID int
	// Memory (in bytes) and Processes limit each command, by cgroups; zero means no limit.
	Memory, Processes int64
}

// New makes a back end for a host. It fails if the runtime is not installed.
func New(cfg Config) (fleet.Backend, error) {
	path, err := exec.LookPath(cfg.Runtime)
	if err != nil {
		return nil, fmt.Errorf("oci: find runtime %q: %w", cfg.Runtime, err)
	}
	cfg.Runtime = path
	if cfg.UID == 0 {
		cfg.UID = 65534
	}
	if cfg.GID == 0 {
		cfg.GID = 65534
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("oci: make back end: containers are made as root here; use sandbox.Pool as an ordinary user")
	}
	return fleet.BackendFunc(func(_ context.Context, s fleet.Spec) (fleet.Box, error) { return open(cfg, s) }), nil
}

// box is a workspace, together with the basis of its containers.
type box struct {
	cfg    Config
	dir    string // directory with all files of the box
	bundle bundle
	ctx    context.Context // ends when the box is closed
	end    context.CancelFunc
	mu     sync.Mutex
	over   bool
	live   sync.WaitGroup
	origin string          // the directory of the snapshot
	trees  []*sandbox.Tree // opened by Tree
}

func open(cfg Config, s fleet.Spec) (_ fleet.Box, err error) {
	from, ok := cfg.Snapshots[s.Snapshot]
	if !ok && s.Snapshot != "" {
		return nil, fmt.Errorf("oci: open box: %w: no snapshot %q", fleet.ErrRefused, s.Snapshot)
	}
	dir, err := os.MkdirTemp(cfg.Scratch, "luthier-oci-")
	if err != nil {
		return nil, fmt.Errorf("oci: open box: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("oci: open box: %w", err), os.RemoveAll(dir))
		}
	}()
	b := &box{cfg: cfg, dir: dir, origin: from, bundle: bundle{rootfs: filepath.Join(dir, "rootfs"), dir: filepath.Join(dir, "workspace"),
		uid: cfg.UID, gid: cfg.GID, memory: cfg.Memory, pids: cfg.Processes}}
	for _, d := range []string{b.bundle.rootfs, b.bundle.dir, filepath.Join(dir, "state")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	if from != "" {
		if err := os.CopyFS(b.bundle.dir, os.DirFS(from)); err != nil {
			return nil, err
		}
	}
	if b.bundle.system, err = makeRoot(b.bundle.rootfs); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(b.bundle.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, cfg.UID, cfg.GID))
	})
	b.ctx, b.end = context.WithCancel(context.Background())
	return b, err
}

// Dir returns the workspace's path as commands see it.
func (b *box) Dir() string { return workspace }

// Isolation reports the isolation that the runtime was configured to enforce.
func (b *box) Isolation() sandbox.Isolation {
	name := filepath.Base(b.cfg.Runtime)
	iso := sandbox.Isolation{Tier: sandbox.TierNamespaces, Missing: []string{"the walls are as asked of " + name + ", they were not observed from inside"}}
	for _, w := range []string{sandbox.WallFilesystem, sandbox.WallNetwork, sandbox.WallProcesses, sandbox.WallIPC,
		sandbox.WallIdentity, sandbox.WallPrivileges, sandbox.WallSyscalls, sandbox.WallEnvironment, sandbox.WallLimits} {
		iso.Walls = append(iso.Walls, sandbox.Wall{Name: w, Enforced: true, Detail: "by " + name})
	}
	if name != "runsc" {
		iso.Walls[6] = sandbox.Wall{Name: sandbox.WallSyscalls, Detail: name + " was given no filter"}
		iso.Missing = append(iso.Missing, "system calls reach the host's kernel unfiltered")
	}
	return iso
}

// Exec runs a command in a new container.
func (b *box) Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	c, err := fleet.CommandOf(cmd)
	if err != nil {
		return nil, fmt.Errorf("oci: run command: %w", err)
	}
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return nil, fmt.Errorf("oci: run command: %w", sandbox.ErrClosed)
	}
	b.live.Add(1)
	b.mu.Unlock()
	defer b.live.Done()
	id := "luthier-" + strings.ToLower(rand.Text())
	dir := filepath.Join(b.dir, id)
	defer os.RemoveAll(dir)
	if err := b.write(dir, c); err != nil {
		return nil, fmt.Errorf("oci: run command: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(b.ctx, stop)()
	return b.run(ctx, id, dir, c)
}

func (b *box) write(dir string, c *fleet.Command) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	config, err := json.MarshalIndent(b.bundle.config(c), "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600)
}

// command returns a command that calls the runtime.
func (b *box) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{"--root", filepath.Join(b.dir, "state")}, b.cfg.Flags...)
	return exec.CommandContext(ctx, b.cfg.Runtime, append(all, args...)...)
}

func (b *box) run(ctx context.Context, id, dir string, c *fleet.Command) (*sandbox.Exit, error) {
	cause := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	limit := c.Cmd().Limit
	out, errs := &headtail.Writer{Limit: limit}, &headtail.Writer{Limit: limit}
	cmd := b.command(ctx, "run", "--bundle", dir, id)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(c.Stdin)), out, errs
	if c.MergeStderr {
		cmd.Stderr = out
	}
	cmd.Cancel = func() error { // kills the container's init process, and with it all others
		_ = b.command(context.WithoutCancel(ctx), "kill", id, "KILL").Run()
		return nil
	}
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	err := cmd.Run()
	_ = b.command(context.WithoutCancel(ctx), "delete", "--force", id).Run() // needed only if the runtime was killed
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil, fmt.Errorf("oci: run command: %w", err)
	}
	e := &sandbox.Exit{Code: cmd.ProcessState.ExitCode(), Stdout: out.Output(), Stderr: errs.Output(), Wall: time.Since(began), Isolation: b.Isolation()}
	if e.Code < 0 || e.Code > 128 { // how runtimes and shells report signals
		e.Signal = syscall.Signal(max(0, e.Code-128))
	}
	switch {
	case cause.Err() != nil:
		e.Canceled = true
		return e, fmt.Errorf("oci: run command: %w", context.Cause(cause))
	case ctx.Err() != nil:
		e.TimedOut = true
	}
	return e, nil
}

// Tree implements sandbox.Treer: the workspace is a directory of this machine. Changes belong to
// the user that commands run as.
func (b *box) Tree(context.Context) (*sandbox.Tree, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, fmt.Errorf("oci: open tree: %w", sandbox.ErrClosed)
	}
	t, err := sandbox.NewTree(b.bundle.dir, sandbox.TreeOptions{Name: workspace, Origin: b.origin, UID: b.cfg.UID, GID: b.cfg.GID})
	if err != nil {
		return nil, fmt.Errorf("oci: open tree: %w", err)
	}
	b.trees = append(b.trees, t)
	return t, nil
}

// Close kills running commands and removes the box.
func (b *box) Close() error {
	b.mu.Lock()
	b.over = true
	trees := b.trees
	b.mu.Unlock()
	b.end()
	b.live.Wait()
	var err error
	for _, t := range trees {
		err = errors.Join(err, t.Close())
	}
	if err = errors.Join(err, os.RemoveAll(b.dir)); err != nil {
		return fmt.Errorf("oci: close box: %w", err)
	}
	return nil
}
