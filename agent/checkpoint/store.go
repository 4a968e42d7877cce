package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
	"github.com/luthier-dev/luthier/internal/filelock"
)

// Options configures a [Store]. The zero value is ready for use.
type Options struct {
	// MaxFile is the size in bytes above which a file is not recorded; 0 means 64 MiB, and a
	// negative number means no limit.
	MaxFile int64
	// Now returns the time for checkpoints; nil means [time.Now].
	Now func() time.Time
}

// The errors that a caller may want to distinguish.
var (
	ErrUnknown       = errors.New("checkpoint: there is no such checkpoint; see List")
	ErrNothingToUndo = errors.New("checkpoint: there is no earlier state to go back to")
	ErrNothingToRedo = errors.New("checkpoint: there is no undone state to go forward to")
)

// A Store holds the checkpoints of one workspace. It is safe for concurrent use, also by several
// processes.
type Store struct {
	tree Tree
	dir  string
	opts Options
	repo *filesystem.Storage
	root *os.Root // of the tree, while it is being viewed or changed

	packs sync.Mutex // guards go-git's view of packed objects
	mu    sync.Mutex
	log   []event
	head  plumbing.Hash // the commit that log was read from
	cache statCache

	pack   *packer // receives new objects while there are many
	packed bool    // whether there are packs

	packFrom int // see the constant; tests set it to a small number
}

// Open opens the store of the workspace workDir in storeDir, and creates it if it does not exist.
// The directory storeDir must be outside workDir, or in its .git. A store belongs to one workspace.
func Open(workDir, storeDir string, opts Options) (*Store, error) {
	work, err := realPath(workDir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: open workspace %s: %w", workDir, err)
	}
	dir, err := makeDir(storeDir)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(work, dir); err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, ".git"+string(filepath.Separator)) {
		return nil, fmt.Errorf("checkpoint: open store %s: it lies inside the workspace %s and would record itself; name a directory outside", storeDir, workDir)
	}
	tree, err := openDirectory(work)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: open workspace: %w", err)
	}
	return openStore(tree, dir, opts)
}

// OpenTree is [Open] for a workspace that need not have a path on this machine. The store must be
// where commands in the workspace cannot write. The caller closes the tree, after the store.
func OpenTree(tree Tree, storeDir string, opts Options) (*Store, error) {
	dir, err := makeDir(storeDir)
	if err != nil {
		return nil, err
	}
	return openStore(tree, dir, opts)
}

// makeDir creates the directory of a store and returns its real path.
func makeDir(storeDir string) (string, error) {
	if err := os.MkdirAll(storeDir, 0o700); err != nil {
		return "", fmt.Errorf("checkpoint: open store: %w; name a directory that can be written", err)
	}
	dir, err := realPath(storeDir)
	if err != nil {
		return "", fmt.Errorf("checkpoint: open store %s: %w", storeDir, err)
	}
	return dir, nil
}

func openStore(tree Tree, dir string, opts Options) (*Store, error) {
	s := &Store{tree: tree, dir: dir, opts: opts, packFrom: packFrom}
	if s.opts.MaxFile == 0 {
		s.opts.MaxFile = 64 << 20
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if err := s.locked(context.Background(), s.prepare); err != nil {
		return nil, errors.Join(err, s.closeTree())
	}
	return s, nil
}

func realPath(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(p)
}

// maxOwner limits the size of the file that names the workspace.
const maxOwner = 64 << 10

// prepare creates the repository, binds it to the workspace, and removes incomplete files that a
// killed process left.
func (s *Store) prepare() error {
	s.repo = filesystem.NewStorageWithOptions(gitfs.New(s.dir), cache.NewObjectLRU(8*cache.MiByte), filesystem.Options{KeepDescriptors: true})
	if _, err := git.Init(s.repo, nil); err != nil && !errors.Is(err, git.ErrRepositoryAlreadyExists) {
		return fmt.Errorf("checkpoint: make store: %w", err)
	}
	if cfg, err := s.repo.Config(); err != nil || !cfg.Core.IsBare { // a process was killed while it created the store
		cfg = config.NewConfig()
		cfg.Core.IsBare = true
		if err := s.repo.SetConfig(cfg); err != nil {
			return fmt.Errorf("checkpoint: make store: %w", err)
		}
	}
	owner := filepath.Join(s.dir, "workspace")
	switch text, err := regular.Read(owner, maxOwner); {
	case errors.Is(err, os.ErrNotExist), err == nil && len(text) == 0:
		if err := s.replace("workspace", []byte(s.tree.ID()+"\n")); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("checkpoint: open store: %w", err)
	case string(text) != s.tree.ID()+"\n":
		return fmt.Errorf("checkpoint: open store %s: it belongs to the workspace %s, not %s; name another directory", s.dir, strings.TrimSpace(string(text)), s.tree.ID())
	}
	stale, _ := filepath.Glob(filepath.Join(s.dir, "objects", "*", tempPrefix+"*"))
	more, _ := filepath.Glob(filepath.Join(s.dir, tempPrefix+"*"))
	for _, f := range append(stale, more...) {
		os.Remove(f)
	}
	s.cache = readCache(filepath.Join(s.dir, "stat-cache"))
	return s.readLog()
}

// Close releases the workspace. The store must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.closeTree(), s.repo.Close())
}

// locked runs fn exclusively among all users of the store, in this process and others.
func (s *Store) locked(ctx context.Context, fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := regular.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("checkpoint: lock store: %w", err)
	}
	defer f.Close() // also releases the lock
	for delay := time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		ok, err := filelock.Try(f)
		if errors.Is(err, errors.ErrUnsupported) {
			break // this system has no lock that ends with the process, so the host must ensure that only one process runs
		}
		if err != nil {
			return fmt.Errorf("checkpoint: lock store: %w", err)
		}
		if ok {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("checkpoint: wait for another process that uses the store: %w", ctx.Err())
		case <-time.After(delay):
		}
	}
	err = fn()
	if s.pack != nil { // a pack may be left from a failure
		s.pack.discard()
		s.pack = nil
	}
	return err
}

// replace writes a file of the store atomically: at any time it has either the old or the complete
// new content.
func (s *Store) replace(name string, data []byte) error {
	if err := atomicfile.WriteBytes(filepath.Join(s.dir, name), atomicfile.Options{Temp: tempPrefix + "*"}, data); err != nil {
		return fmt.Errorf("checkpoint: write store: %w", err)
	}
	return nil
}

// tempPrefix begins the names of files that are being written, in the store and in the workspace.
const tempPrefix = ".luthier-tmp-"
