package coding

import (
	"context"
	"errors"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
)

// procState is the state shared by the process tools of a workspace.
type procState struct {
	mu     sync.Mutex
	own    sandbox.Sandbox // plain processes, if the host has set no sandbox
	shell  []string        // nil until known
	closed bool
	ctx    context.Context // cancelled by procClose
	cancel context.CancelFunc
	active sync.WaitGroup // processes that were started and not yet waited for
	next   int
	store  ownStore
	table  map[int]*process // background processes, including ended ones until they are dropped
}

var (
	errClosed = errors.New("the workspace is closed")
	errNoBox  = errors.New("no sandbox is set to run programs in: set Config.Proc.Sandbox to the one whose tree this is")
)

// runner returns the sandbox that programs run in.
func (w *Workspace) runner() (sandbox.Sandbox, error) {
	s := &w.procs
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.table = map[int]*process{}
	}
	if w.cfg.Proc.Sandbox != nil {
		return w.cfg.Proc.Sandbox, nil
	}
	if !w.onHost {
		return nil, errNoBox
	}
	if s.own == nil {
		sb, err := sandbox.Local(s.ctx, sandbox.Config{Dir: w.name, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
		if err != nil {
			return nil, err
		}
		s.own = sb
	}
	return s.own, nil
}

// spawn runs fn in the background; procClose waits for it.
func (s *procState) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active.Go(fn)
	return true
}

// procClose kills every program that the tools have started and waits for it.
func (w *Workspace) procClose() error {
	s := &w.procs
	s.mu.Lock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	table, own := s.table, s.own
	s.table = nil
	s.mu.Unlock()
	s.active.Wait()
	for _, p := range table {
		p.log.close()
	}
	err := s.store.close()
	if own != nil {
		err = errors.Join(err, own.Close())
	}
	return err
}

// place adds to a description where the programs of a call run, and whether network and file system
// isolation is enforced there.
func (w *Workspace) place(d agent.CallDescription, dir string) agent.CallDescription {
	d.Where = w.where(dir)
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		iso := sb.Isolation()
		d.Sandboxed = iso.Wall(sandbox.WallNetwork).Enforced && iso.Wall(sandbox.WallFilesystem).Enforced
	}
	return d
}

// where describes in words where programs run.
func (w *Workspace) where(dir string) string {
	at := "host, no isolation"
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		if t := sb.Isolation().Tier; t > sandbox.TierNone {
			at = "sandbox (" + t.String() + ")"
		}
	}
	root := w.name
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		root = sb.Dir()
	}
	if dir != "" && dir != "." {
		root += "/" + dir
	}
	return at + ", " + root
}
