package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
	"github.com/luthier-dev/luthier/sandbox/internal/treefd"
)

// Sandbox runs commands over one workspace. All methods may be called
// concurrently; commands of one sandbox see each other's files, processes and
// loopback servers.
type Sandbox interface {
	// Exec runs a command to its end. A command that ran is not an error, whatever its status. The
	// error reports why the command could not be run, or that ctx ended; in the latter case Exec
	// returns the Exit too.
	Exec(ctx context.Context, cmd Cmd) (*Exit, error)
	// Start starts a command and returns while it runs. The command is killed
	// with its whole tree when ctx ends.
	Start(ctx context.Context, cmd Cmd) (*Process, error)
	// Dir is the workspace's absolute path as commands see it.
	Dir() string
	// Isolation reports what is enforced on every command.
	Isolation() Isolation
	// Close kills everything that still runs inside and removes what the
	// sandbox kept on the host. Closing twice is harmless.
	Close() error
}

// Differ is implemented by sandboxes that can list what changed in the workspace since its
// snapshot.
type Differ interface {
	// Changes lists changed paths in lexical order. It fails for a workspace in place, whose
	// earlier state is unknown.
	Changes(ctx context.Context) ([]Change, error)
}

// Wrapper is implemented by a sandbox that wraps another one, such as one that logs commands. [As]
// and [AbilitiesOf] then find the abilities of the wrapped sandbox, whose methods bypass the
// wrapper: a wrapper that must see everything implements the interfaces itself or has no Unwrap.
type Wrapper interface {
	Sandbox
	// Unwrap returns the wrapped sandbox.
	Unwrap() Sandbox
}

// As returns box, or the outermost sandbox that it wraps (see [Wrapper]), as one of the optional
// interfaces:
//
//	if f, ok := sandbox.As[sandbox.Forker](box); ok {
//		fork, err := f.Fork(ctx)
//		...
//	}
//
// It returns false if none implements T. An ability can still be refused at a call, as a fork of a
// workspace in place is, with [ErrInPlace].
func As[T any](box Sandbox) (T, bool) {
	for box != nil {
		if t, ok := box.(T); ok {
			return t, true
		}
		w, ok := box.(Wrapper)
		if !ok {
			break
		}
		box = w.Unwrap()
	}
	var none T
	return none, false
}

// Abilities are all optional interfaces of a sandbox. A nil field is an ability that it does not
// have.
type Abilities struct {
	Differ    Differ    // lists what changed
	Exporter  Exporter  // shows the change and brings it out
	Reviewer  Reviewer  // checks what the host would execute later
	Forker    Forker    // opens a second sandbox in the current state
	Restorer  Restorer  // returns to an earlier state
	Adopter   Adopter   // goes on from a fork
	Merger    Merger    // takes over the changes of several forks
	DryRunner DryRunner // runs a command without effect
	Approver  Approver  // runs one command under other terms
	Treer     Treer     // opens the workspace for the host's process
}

// AbilitiesOf returns what box can do beyond the methods of [Sandbox]; see [As].
func AbilitiesOf(box Sandbox) Abilities {
	var a Abilities
	a.Differ, _ = As[Differ](box)
	a.Exporter, _ = As[Exporter](box)
	a.Reviewer, _ = As[Reviewer](box)
	a.Forker, _ = As[Forker](box)
	a.Restorer, _ = As[Restorer](box)
	a.Adopter, _ = As[Adopter](box)
	a.Merger, _ = As[Merger](box)
	a.DryRunner, _ = As[DryRunner](box)
	a.Approver, _ = As[Approver](box)
	a.Treer, _ = As[Treer](box)
	return a
}

// Errors that callers may test for with errors.Is.
var (
	// ErrInit means the host did not call Init first in main, so that no isolating tier is
	// available.
	ErrInit = errors.New("the program does not call sandbox.Init() first in main (in tests: in TestMain)")
	// ErrFloor means that no tier at or above Config.Floor works on this host.
	ErrFloor = errors.New("no isolation of the required tier on this host")
	// ErrClosed means the sandbox or pool was closed, or its supervisor died.
	ErrClosed = errors.New("sandbox is closed")
	// ErrInPlace means the workspace is the original directory, so there is
	// nothing to compare it with.
	ErrInPlace = errors.New("workspace is in place, no snapshot to compare with")
)

// Local opens a workspace on this machine, isolated as well as the host allows.
//
// The tiers are tried from Config.Ceiling down to Config.Floor by actually starting each; the first
// that works is used. If none works, Local fails with [ErrFloor], with the reason for every tier
// tried. The sandbox must be closed; ctx bounds only the start.
func Local(ctx context.Context, cfg Config) (Sandbox, error) {
	cfg, err := cfg.normalize()
	if err != nil {
		return nil, fmt.Errorf("sandbox: open workspace: %w", err)
	}
	cfg.ReadOnly = append(cfg.ReadOnly, obeyed.OutsideGit(cmp.Or(cfg.Dir, cfg.Snapshot.live()))...)
	ws, err := openWorkspace(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open workspace: %w", err)
	}
	sb, err := startHighest(ctx, &cfg, ws)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: start: %w", err), ws.remove())
	}
	sb.cfg = cfg
	if ws.inPlace() {
		tree.AwaitTick(ctx, ws.opened) // otherwise Review could take a command's change for an older one
	}
	return sb, nil
}

// spawner starts processes at one tier.
type spawner interface {
	// spawn starts the command; files are its standard input, output and error.
	spawn(ctx context.Context, req spawnRequest) (child, error)
	// alive reports whether commands can still be started.
	alive() bool
	io.Closer
}

// local implements Sandbox for every tier on this machine.
type local struct {
	ws   *workspace
	env  []string
	iso  Isolation
	run  spawner
	once closeOnce
	cfg  Config // the configuration it was opened with

	asked approvals

	files treefd.State // the workspace's tree; its gate is locked before the next one
	gate  sync.RWMutex // held for reading while a command starts, for writing while run is replaced

	mu   sync.Mutex
	live map[*Process]struct{}
}

func newLocal(ws *workspace, env []string, iso Isolation, run spawner) *local {
	return &local{asked: approvals{now: time.Now}, ws: ws, env: env, iso: iso, run: run, live: map[*Process]struct{}{}}
}

func (l *local) Dir() string { return l.ws.dir }

func (l *local) Isolation() Isolation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.iso.clone()
}

func (l *local) Exec(ctx context.Context, cmd Cmd) (*Exit, error) {
	p, err := l.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return p.Wait()
}

func (l *local) Start(ctx context.Context, cmd Cmd) (*Process, error) {
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.once.closed() {
		return nil, cmd.fail("start", ErrClosed)
	}
	return start(ctx, l, cmd)
}

func (l *local) Close() error {
	return l.once.do(func() error {
		l.files.Stop()
		l.killAll()
		// First without the gate: a start that hangs ends only this way.
		run := l.spawner()
		err := run.Close()
		err = errors.Join(err, l.files.Drain(false)) // otherwise the tree would keep the workspace's files
		l.gate.Lock()
		defer l.gate.Unlock()
		if now := l.spawner(); now != run { // a fork was in progress
			err = now.Close()
		}
		return errors.Join(err, l.ws.remove())
	})
}

func (l *local) alive() bool { return !l.once.closed() && l.spawner().alive() }

// spawner returns the current spawner of commands; a fork replaces it.
func (l *local) spawner() spawner {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// enter adds p to the commands that Close ends; it fails once Close has begun.
func (l *local) enter(p *Process) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.once.closed() {
		return ErrClosed
	}
	l.live[p] = struct{}{}
	return nil
}

func (l *local) leave(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, p)
}

func (l *local) killAll() {
	l.mu.Lock()
	live := slices.Collect(maps.Keys(l.live))
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range live {
		wg.Go(func() { _ = p.Kill() })
	}
	wg.Wait()
}

// closeOnce runs a closing function once and remembers its error.
type closeOnce struct {
	over atomic.Bool
	once sync.Once
	err  error
}

func (c *closeOnce) closed() bool { return c.over.Load() }

func (c *closeOnce) do(f func() error) error {
	c.once.Do(func() {
		c.over.Store(true)
		c.err = f()
	})
	return c.err
}
