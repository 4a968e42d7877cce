package checkpoint

import (
	"context"
	"errors"
	"os"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// A Tree is a workspace whose files this process can open, wherever it is: the directory of a
// sandbox that other processes see under another path, or under none.
type Tree interface {
	// Name is the workspace's path as commands see it, for messages.
	Name() string
	// ID identifies the workspace for as long as its checkpoints are kept. A fork has another one.
	ID() string
	// View lets do read the tree. The root is valid until do returns.
	View(ctx context.Context, do func(root *os.Root) error) error
	// Change lets do change the tree, in the calling goroutine. Outside the tree, do may lack the
	// rights that the process has.
	Change(ctx context.Context, do func(root *os.Root) error) error
}

// directory is a workspace in a directory of this machine.
type directory struct {
	path string // absolute, without symbolic links
	root *os.Root
}

func openDirectory(path string) (*directory, error) {
	root, err := regular.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &directory{path, root}, nil
}

func (d *directory) Name() string { return d.path }
func (d *directory) ID() string   { return d.path }

func (d *directory) View(_ context.Context, do func(*os.Root) error) error   { return do(d.root) }
func (d *directory) Change(_ context.Context, do func(*os.Root) error) error { return do(d.root) }

// viewing calls do while the tree may be read, with s.root.
func (s *Store) viewing(ctx context.Context, do func() error) error {
	return s.tree.View(ctx, func(root *os.Root) error { return s.within(root, do) })
}

// changing calls do while the tree may be changed, with s.root. Of the store, do must use nothing
// that is on disk: it may lack the rights.
func (s *Store) changing(ctx context.Context, do func() error) error {
	return s.tree.Change(ctx, func(root *os.Root) error { return s.within(root, do) })
}

func (s *Store) within(root *os.Root, do func() error) error {
	if s.root != nil {
		return errors.New("checkpoint: the tree is open already") // a fault of this package
	}
	s.root = root
	defer func() { s.root = nil }()
	return do()
}

// rules returns the ignore rules of the workspace. Those of a tree elsewhere are all inside it.
func (s *Store) rules() *ignore.Matcher {
	if d, ok := s.tree.(*directory); ok {
		return ignore.New(d.path)
	}
	return ignore.NewRoot(s.root)
}

// closeTree closes a directory, which the store has opened itself.
func (s *Store) closeTree() error {
	if d, ok := s.tree.(*directory); ok {
		return d.root.Close()
	}
	return nil
}
