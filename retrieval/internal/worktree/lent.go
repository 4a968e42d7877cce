package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/internal/ignore"
)

// Lent is a tree without a path: it can be opened only by asking for it, each time again.
type Lent interface {
	// View calls do with the tree and closes it afterwards. Calls of View must not nest.
	View(ctx context.Context, do func(*Root) error) error
}

// Borrow returns the Root of an open tree, which the caller must keep open until Root.Close. The
// ignore rules of such a tree are only those that lie in it.
func Borrow(open *os.Root) (*Root, error) {
	f, err := open.Open(".")
	if err != nil {
		return nil, fmt.Errorf("worktree: open tree: %w", err)
	}
	return &Root{dir: f, any: open}, nil
}

// git returns git's ignore rules for the tree.
func (r *Root) git() *ignore.Matcher {
	if r.path == "" {
		return ignore.NewRoot(r.any)
	}
	return ignore.New(r.path)
}

// RefusedError means that a lent tree could not be opened, whatever the file.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return "the tree cannot be opened: " + e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Visit calls do with a lent tree. An error of View itself is a [RefusedError].
func Visit(ctx context.Context, tree Lent, do func(*Root) error) error {
	called := false
	var failed error
	err := tree.View(ctx, func(r *Root) error {
		called = true
		failed = do(r)
		return failed
	})
	switch {
	case called && failed != nil:
		return failed
	case err != nil:
		return &RefusedError{err}
	case !called:
		return &RefusedError{errors.New("nothing was opened")}
	}
	return nil
}

// ReadLent reads a file of a lent tree, as [Root.ReadFile] does.
func ReadLent(ctx context.Context, tree Lent, path string, max int64) (content []byte, state File, err error) {
	err = Visit(ctx, tree, func(r *Root) (err error) {
		content, state, err = r.ReadFile(path, max)
		return err
	})
	return content, state, err
}
