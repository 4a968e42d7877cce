package treefd

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrOver means that the tree was closed.
var ErrOver = errors.New("the tree is closed")

// View is a tree that is open.
type View struct {
	Root *os.Root
	// UID and GID are the user that changes are made as, if As is set.
	UID, GID int
	As       bool
	// ReadOnly refuses changes.
	ReadOnly bool
	// Fence makes the view read-only for whoever still has a descriptor of it. It fails with EBUSY
	// while a file is open for writing. It is nil if there is nothing to fence.
	Fence func() error
	// Close closes what the view holds besides Root; it may be nil.
	Close func() error
}

// Release closes the view.
func (v *View) Release() error {
	err := v.Root.Close()
	if v.Close != nil {
		err = errors.Join(err, v.Close())
	}
	return err
}

// busyPatience is the time for which fence tries again. A file that was closed a moment ago may
// still be open in a process that this one is starting, until that process executes its program. On
// a busy machine that may take more than a second.
const busyPatience = 5 * time.Second

// fence makes the view read-only.
func (v *View) fence(ctx context.Context) error {
	if v.Fence == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, busyPatience)
	defer cancel()
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		err := v.Fence()
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// State is a workspace's tree over time: the view that is open, and the gate that calls share and
// that whoever replaces the workspace holds alone. The zero value has no view; it opens one when a
// call needs it.
type State struct {
	Gate Gate

	generation atomic.Uint64
	opening    sync.Mutex // held while a view is opened

	mu    sync.Mutex
	view  *View
	users int // handles that are not closed
	over  bool
}

// Generation returns the number of times that the workspace was replaced.
func (s *State) Generation() uint64 { return s.generation.Load() }

// Use counts a handle until Release.
func (s *State) Use() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrOver
	}
	s.users++
	return nil
}

// Release ends the use of a handle. The last one closes the view, as soon as no call uses it.
func (s *State) Release() error {
	s.mu.Lock()
	s.users--
	last := s.users == 0 && !s.over
	s.mu.Unlock()
	if !last {
		return nil
	}
	if s.soonAlone() { // otherwise a call that does not return loses its root
		defer s.Gate.Unlock()
	}
	s.mu.Lock()
	v := s.view
	if s.users > 0 { // another handle was opened meanwhile
		v = nil
	} else {
		s.view = nil
	}
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	return v.Release()
}

// Call runs f with the tree, which it opens if necessary. Calls share the gate.
func (s *State) Call(ctx context.Context, open func(context.Context) (*View, error), f func(*View) error) error {
	if err := s.Gate.Enter(ctx); err != nil {
		return err
	}
	defer s.Gate.Leave()
	v, err := s.get(ctx, open)
	if err != nil {
		return err
	}
	err = f(v)
	if errors.Is(err, os.ErrClosed) && s.closed() {
		err = errors.Join(ErrOver, err)
	}
	return err
}

func (s *State) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// current returns the view that is open, if there is one.
func (s *State) current() (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, ErrOver
	}
	return s.view, nil
}

// get returns the view, and opens it if it is not open. The caller shares the gate.
func (s *State) get(ctx context.Context, open func(context.Context) (*View, error)) (*View, error) {
	if v, err := s.current(); v != nil || err != nil {
		return v, err
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if v, err := s.current(); v != nil || err != nil {
		return v, err
	}
	v, err := open(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	over := s.over
	if !over {
		s.view = v
	}
	s.mu.Unlock()
	if over {
		return nil, errors.Join(ErrOver, v.Release())
	}
	return v, nil
}

// Retire fences and closes the view, so that nobody can write what the workspace was so far; the
// next call opens another. The caller holds the gate alone. If it fails, a file is still open for
// writing and the view stays.
func (s *State) Retire(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	if v == nil {
		return nil
	}
	if err := v.fence(ctx); err != nil {
		return err
	}
	s.view = nil
	return v.Release()
}

// Replaced records that the workspace was replaced. The caller holds the gate alone.
func (s *State) Replaced() { s.generation.Add(1) }

// Stop ends the tree: no call begins any more, and those that run lose their root.
func (s *State) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.view != nil {
		_ = s.view.Root.Close() // Drain reports errors
	}
}

// patience is the time that calls get to return.
const patience = 2 * time.Second

// soonAlone takes the gate alone and reports whether that was possible in time.
func (s *State) soonAlone() bool {
	if s.Gate.TryLock() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Gate.Lock(ctx) == nil
}

// Drain waits, not for ever, for the calls that ran at Stop, and closes the view. With fence set it
// fails if a file may still be written through the view.
func (s *State) Drain(fence bool) error {
	if s.soonAlone() {
		defer s.Gate.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	if v == nil {
		return nil
	}
	s.view = nil
	var err error
	if fence {
		err = v.fence(context.Background())
	}
	return errors.Join(err, v.Release())
}
