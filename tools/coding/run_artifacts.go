package coding

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
)

// ownStore keeps long outputs if the host has set no artifact store. It uses a temporary directory,
// which is created when there is something to keep and removed with the workspace.
type ownStore struct {
	mu     sync.Mutex
	dir    string
	store  agent.ArtifactStore
	closed bool
}

// artifacts returns the store for long outputs.
func (w *Workspace) artifacts() agent.ArtifactStore {
	if w.cfg.Artifacts != nil {
		return w.cfg.Artifacts
	}
	return &w.procs.store
}

// keep stores a text and returns its handle.
func (w *Workspace) keep(ctx context.Context, name string, data []byte) (string, error) {
	// The output is kept even if the call that printed it is being cancelled.
	return w.artifacts().Put(context.WithoutCancel(ctx), name, data)
}

func (s *ownStore) open() (agent.ArtifactStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.store != nil {
		return s.store, nil
	}
	dir, err := os.MkdirTemp("", "luthier-artifacts-*")
	if err != nil {
		return nil, err
	}
	store, err := tools.NewDirStore(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.dir, s.store = dir, store
	return store, nil
}

// Put implements [agent.ArtifactStore].
func (s *ownStore) Put(ctx context.Context, name string, data []byte) (string, error) {
	store, err := s.open()
	if err != nil {
		return "", err
	}
	return store.Put(ctx, name, data)
}

// Get implements [agent.ArtifactStore].
func (s *ownStore) Get(ctx context.Context, handle string) ([]byte, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	return store.Get(ctx, handle)
}

func (s *ownStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// readArtifactTool returns a tool that reads back what the tools of this workspace kept.
func (w *Workspace) readArtifactTool() (agent.Tool, error) {
	return tools.NewReadArtifact(w.artifacts())
}
