package sandbox

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Backend runs processes elsewhere than in this host's own tiers: on another machine or in a
// virtual machine. FromBackend makes a Sandbox of it.
type Backend interface {
	// Spawn starts a process. It may use s until it calls s.Release, also after it has returned. If
	// it fails, it must not call s.Release.
	Spawn(ctx context.Context, s Spawn) (Child, error)
	// Close ends everything that was started and frees its resources.
	Close() error
}

// Spawn is a process to start.
type Spawn struct {
	// Args, Dir and Env are the command as Cmd has it; Dir is absolute.
	Args []string
	Dir  string
	Env  []string
	// Timeout is Cmd.Timeout. This host enforces it; a backend may enforce it too, in case this
	// host disappears.
	Timeout time.Duration
	// Stdin is read by the process, Stdout and Stderr are written by it; the latter two are the
	// same file when a command merges them.
	Stdin, Stdout, Stderr *os.File
	// Release closes the files. It must be called once all output is written.
	Release func()
}

// Child is a process that a Backend started.
type Child interface {
	// PID is the process's number on the machine where it runs.
	PID() int
	// Wait returns once the process has ended and Spawn.Release was called.
	Wait() (Ended, error)
	// Signal sends a signal to the process group.
	Signal(syscall.Signal) error
	// Kill ends the process and all its descendants.
	Kill() error
}

// Ended describes how a Child ended.
type Ended struct {
	Code         int
	Signal       syscall.Signal
	User, System time.Duration
	MaxRSS       int64
	Exceeded     string // the limit that ended it, as in Exit
	Denials      []Denial
}

// FromBackend makes a Sandbox whose processes are started by b. dir is the workspace as they see
// it; isolation is what b enforces. Closing the Sandbox closes b.
func FromBackend(dir string, isolation Isolation, b Backend) Sandbox {
	return backed{newLocal(&workspace{dir: dir}, nil, isolation.clone(), backendSpawner{b})}
}

// backed exposes only the methods that a sandbox elsewhere supports, not those about a workspace on
// this host.
type backed struct{ l *local }

func (b backed) Exec(ctx context.Context, cmd Cmd) (*Exit, error)     { return b.l.Exec(ctx, cmd) }
func (b backed) Start(ctx context.Context, cmd Cmd) (*Process, error) { return b.l.Start(ctx, cmd) }
func (b backed) Dir() string                                          { return b.l.Dir() }
func (b backed) Isolation() Isolation                                 { return b.l.Isolation() }
func (b backed) Close() error                                         { return b.l.Close() }

type backendSpawner struct{ b Backend }

func (s backendSpawner) spawn(ctx context.Context, req spawnRequest) (child, error) {
	c, err := s.b.Spawn(ctx, Spawn{
		Args: req.args, Dir: req.dir, Env: req.env, Timeout: req.timeout,
		Stdin: req.files[0], Stdout: req.files[1], Stderr: req.files[2], Release: req.release,
	})
	if err != nil {
		return nil, err
	}
	*req.kept = true
	return backendChild{c}, nil
}

func (s backendSpawner) alive() bool  { return true }
func (s backendSpawner) Close() error { return s.b.Close() }

type backendChild struct{ c Child }

func (c backendChild) pid() int                        { return c.c.PID() }
func (c backendChild) signal(sig syscall.Signal) error { return c.c.Signal(sig) }
func (c backendChild) kill() error                     { return c.c.Kill() }
func (c backendChild) adopt(f *os.File)                { f.Close() }

func (c backendChild) wait() (status, error) {
	e, err := c.c.Wait()
	return status{Code: e.Code, Signal: e.Signal, User: e.User, System: e.System, MaxRSS: e.MaxRSS, Exceeded: e.Exceeded, Denials: e.Denials}, err
}
