package retrieval

import (
	"cmp"
	"context"
	"errors"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A since holds the state of each layer from before the tree was examined. Other processes may
// index newer files until a layer is written; see [codestore.Since].
type since map[*layer]*codestore.Since

// since returns the current states. It must be called before the tree is examined.
func (x *Index) since() (since, error) {
	s := since{}
	for _, l := range x.layers() {
		view, err := l.store.View()
		if err != nil {
			s.close()
			if errors.Is(err, codestore.ErrClosed) {
				err = ErrClosed
			}
			return nil, err
		}
		s[l] = &codestore.Since{View: view, Look: x.look}
	}
	return s, nil
}

func (s since) close() {
	for _, l := range s {
		l.View.Close()
	}
}

// look examines paths of the tree and adds what it finds to the listing.
func (x *Index) look(ctx context.Context, paths ...string) ([]worktree.File, error) {
	files, err := x.root.look(ctx, x.scanOptions(), paths...)
	if err != nil {
		return nil, err
	}
	x.tree.limit(files, cmp.Or(max(x.cfg.MaxFiles, 0), worktree.DefaultMaxFiles))
	x.tree.add(files)
	return files, nil
}
