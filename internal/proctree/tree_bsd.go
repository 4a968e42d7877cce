//go:build unix && !linux

package proctree

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// Tree is a process and its descendants.
type Tree struct {
	pid   int
	mu    sync.Mutex
	ended bool
}

// NewGroup returns attributes that give a process its own session.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Track returns the tree of a process started with NewGroup.
func Track(p *os.Process, _ string) (*Tree, error) { return &Tree{pid: p.Pid}, nil }

// Ended records that the root was waited for.
func (t *Tree) Ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Signal sends sig to the root's process group.
func (t *Tree) Signal(sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(-t.pid, sig)
}

// Kill ends the process group and, if the system can list processes, the descendants that left it.
func (t *Tree) Kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	rest := descendants(t.pid)
	err := syscall.Kill(-t.pid, syscall.SIGKILL)
	for _, pid := range rest {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		err = syscall.Kill(t.pid, syscall.SIGKILL)
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// KillMarked does nothing: this system does not let us read environment markers.
func KillMarked(string) error { return nil }
