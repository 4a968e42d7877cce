package coding

import (
	"context"
	"errors"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
)

// procState is the state that the process tools of a workspace share.
type procState struct {
	mu     sync.Mutex
	own    sandbox.Sandbox // plain processes, when the host gave no sandbox
	shell  []string        // once known
	closed bool
	ctx    context.Context // ended by procClose
	cancel context.CancelFunc
	active sync.WaitGroup // processes that were started and not waited for
	next   int
	store  ownStore
	table  map[int]*process // background processes, ended ones too until they are dropped
}

var errClosed = errors.New("the workspace is closed")

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
	if s.own == nil {
		sb, err := sandbox.Local(s.ctx, sandbox.Config{Dir: w.real, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
		if err != nil {
			return nil, err
		}
		s.own = sb
	}
	return s.own, nil
}

// spawn runs fn beside the tools; procClose waits for it.
func (s *procState) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active.Go(fn)
	return true
}

// procClose ends every program the tools have started and waits for it.
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

// place says where the programs of a call run, and whether the walls a host may rely on stand
// there.
func (w *Workspace) place(d agent.CallDescription, dir string) agent.CallDescription {
	d.Where = w.where(dir)
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		iso := sb.Isolation()
		d.Sandboxed = iso.Wall(sandbox.WallNetwork).Enforced && iso.Wall(sandbox.WallFilesystem).Enforced
	}
	return d
}

// where says in words where programs run.
func (w *Workspace) where(dir string) string {
	at := "host, no isolation"
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		if t := sb.Isolation().Tier; t > sandbox.TierNone {
			at = "sandbox (" + t.String() + ")"
		}
	}
	root := w.real
	if sb := w.cfg.Proc.Sandbox; sb != nil {
		root = sb.Dir()
	}
	if dir != "" && dir != "." {
		root += "/" + dir
	}
	return at + ", " + root
}
