package retrieval

import (
	"context"
	"errors"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
)

// rebuilding calls fn, which reads the index. If fn meets a part that is damaged on disk, the tree
// is indexed again and fn is called once more, from its beginning.
func (x *Index) rebuilding(ctx context.Context, fn func() error) error {
	err := codestore.Guard(fn)
	if !codestore.Damaged(err) {
		return err
	}
	ctx, done := x.untilClose(ctx)
	defer done()
	if e := x.sync(ctx); e != nil {
		return errors.Join(err, e)
	}
	return codestore.Guard(fn)
}
