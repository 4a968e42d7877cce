package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

var errNoArtifact = errors.New("there is no artifact with that handle; use one that a tool result named")

// NewMemStore returns a store that keeps texts in memory until the process ends, for tests and
// short runs.
func NewMemStore() agent.ArtifactStore { return &memStore{texts: map[string][]byte{}} }

type memStore struct {
	mu    sync.RWMutex
	texts map[string][]byte
}

// Put keeps a copy of data.
func (s *memStore) Put(ctx context.Context, name string, data []byte) (string, error) {
	handle := artifact.Handle(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[handle] == nil {
		s.texts[handle] = append(make([]byte, 0, len(data)), data...)
	}
	return handle, nil
}

// Get returns a copy of the text.
func (s *memStore) Get(ctx context.Context, handle string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	data, ok := s.texts[handle]
	if !ok {
		return nil, fmt.Errorf("tools: get artifact %.80q: %w", handle, errNoArtifact)
	}
	return append(make([]byte, 0, len(data)), data...), nil
}

// NewDirStore returns a store that keeps each text as a file in dir, which is created if it is
// missing. A text is written to a temporary file in dir and renamed, so that a killed process
// leaves only complete texts. It is checked against its handle when it is read. Several processes
// may share dir.
func NewDirStore(dir string) (agent.ArtifactStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("tools: open artifact store: %w", err)
	}
	return &dirStore{dir: dir}, nil
}

// maxArtifact limits the size of a text that is read.
const maxArtifact = 1 << 31

type dirStore struct{ dir string }

// Put writes data unless it is stored already.
func (s *dirStore) Put(ctx context.Context, name string, data []byte) (string, error) {
	handle := artifact.Handle(data)
	path := filepath.Join(s.dir, handle)
	if have, err := regular.Read(path, maxArtifact); err == nil && artifact.Handle(have) == handle {
		return handle, nil
	}
	if err := atomicfile.WriteBytes(path, atomicfile.Options{Temp: ".tmp-*", Sync: true}, data); err != nil {
		return "", fmt.Errorf("tools: put artifact: %w", err)
	}
	return handle, nil
}

// Get reads the text and checks that it matches the handle.
func (s *dirStore) Get(ctx context.Context, handle string) ([]byte, error) {
	if !artifact.Valid(handle) {
		return nil, fmt.Errorf("tools: get artifact %.80q: %w", handle, errNoArtifact)
	}
	data, err := regular.Read(filepath.Join(s.dir, handle), maxArtifact)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tools: get artifact %q: %w", handle, errNoArtifact)
	}
	if err != nil {
		return nil, fmt.Errorf("tools: get artifact %q: %w", handle, err)
	}
	if artifact.Handle(data) != handle {
		return nil, fmt.Errorf("tools: get artifact %q: the file is damaged; run the call that made it again", handle)
	}
	return data, nil
}
