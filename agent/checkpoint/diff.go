package checkpoint

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Now represents the current workspace wherever [Store.Diff] and [Store.Changes] take a
// checkpoint's id.
const Now = ""

// Diff returns the changes from checkpoint a to b, either of which may be [Now], as a unified diff
// in git's format.
func (s *Store) Diff(ctx context.Context, a, b string) (string, error) {
	var text string
	err := s.compare(ctx, a, b, func(cs object.Changes) error {
		p, err := cs.PatchContext(ctx)
		if err == nil {
			text = p.String()
		}
		return err
	})
	return text, err
}

// Changes returns the paths of the files that differ between checkpoints a and b, either of which
// may be [Now].
func (s *Store) Changes(ctx context.Context, a, b string) ([]string, error) {
	paths := map[string]bool{}
	err := s.compare(ctx, a, b, func(cs object.Changes) error {
		for _, c := range cs {
			for _, name := range []string{c.From.Name, c.To.Name} {
				if name != "" {
					paths[name] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sortedKeys(paths), nil
}

func (s *Store) compare(ctx context.Context, a, b string, use func(object.Changes) error) error {
	return s.locked(ctx, func() error {
		if err := s.readLog(); err != nil {
			return err
		}
		from, err := s.filesTree(ctx, a)
		if err != nil {
			return err
		}
		to, err := s.filesTree(ctx, b)
		if err != nil {
			return err
		}
		cs, err := object.DiffTreeContext(ctx, from, to)
		if err == nil {
			err = use(cs)
		}
		if err != nil {
			return fmt.Errorf("checkpoint: compare %q with %q: %w", a, b, err)
		}
		return nil
	})
}

// filesTree returns the files of a checkpoint, or of the workspace, as a git tree.
func (s *Store) filesTree(ctx context.Context, id string) (*object.Tree, error) {
	var tree plumbing.Hash
	if id == Now {
		m, err := s.scan(ctx, nil)
		if err != nil {
			return nil, err
		}
		if tree, err = s.putFiles(m.files); err == nil {
			err = s.flush()
		}
		if err != nil {
			return nil, err
		}
		return object.GetTree(s.repo, tree)
	}
	e, err := s.find(id)
	if err != nil {
		return nil, err
	}
	top, err := object.GetTree(s.repo, e.tree)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read state %s: %w; the store is damaged", e.tree, err)
	}
	return top.Tree(filesName)
}
