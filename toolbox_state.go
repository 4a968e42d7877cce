package luthier

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// The limits of what stateOf looks at.
const (
	maxStatePaths = 200
	maxStateBytes = 64 << 20
)

// view calls do with the tree.
func (g *ground) view(ctx context.Context, do func(*os.Root) error) error {
	if g.tree != nil {
		return g.tree.View(ctx, do)
	}
	root, err := regular.OpenRoot(g.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root)
}

// stateOf describes the files that a call will write as they are: where links lead, and a hash of
// the contents. A call that was approved is refused if they are different when it runs.
func (g *ground) stateOf(ctx context.Context, paths []string) (string, error) {
	var out strings.Builder
	left := int64(maxStateBytes)
	err := g.view(ctx, func(root *os.Root) error {
		for i, p := range paths {
			if i == maxStatePaths {
				break
			}
			if !agent.PathUnder(p, ".") { // outside, or a resource of another kind
				continue
			}
			fmt.Fprintf(&out, "%q %s\n", p, stateAt(root, p, &left))
		}
		return nil
	})
	return out.String(), err
}

// stateAt describes one file. Of a file that is too large it says the size and the time.
func stateAt(root *os.Root, p string, left *int64) string {
	info, err := root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "none"
	case err != nil:
		return "unreadable"
	case info.Mode()&fs.ModeSymlink != 0:
		to, _ := root.Readlink(p)
		return fmt.Sprintf("link %q", to)
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	case info.Size() > *left:
		return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	}
	f, err := regular.OpenIn(root, p, os.O_RDONLY)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, *left))
	*left -= n
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%v %x", info.Mode(), h.Sum(nil))
}

// Snapshot implements [remote.Checkpointer].
func (b *toolbox) Snapshot(ctx context.Context, label string) (string, error) {
	return b.store.Snapshot(ctx, label)
}

// Restore implements [remote.Checkpointer].
func (b *toolbox) Restore(ctx context.Context, id string) (string, error) {
	return b.moved(restore(ctx, b.store, id, func(paths []string) { tellIndex(b.told, paths) }))
}

// Undo implements [remote.Undoer].
func (b *toolbox) Undo(ctx context.Context) (string, error) { return b.moved(b.store.Undo(ctx)) }

// Redo implements [remote.Undoer].
func (b *toolbox) Redo(ctx context.Context) (string, error) { return b.moved(b.store.Redo(ctx)) }

// moved makes the index look at all files, unless it watches them and sees the change by itself.
func (b *toolbox) moved(id string, err error) (string, error) {
	if b.told != nil {
		if changed := b.told.Features().Changed; changed != nil {
			changed()
		}
	}
	return id, err
}

// Checkpoints implements [remote.CheckpointLister].
func (b *toolbox) Checkpoints(ctx context.Context) (json.RawMessage, error) {
	list, err := b.store.List(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(list)
}

// Instructions implements [remote.Instructor].
func (b *toolbox) Instructions(_ context.Context, dir string) (json.RawMessage, error) {
	found, err := b.files.Find(dir)
	if err != nil {
		return nil, err
	}
	out := []farInstruction{}
	for _, i := range found {
		out = append(out, farInstruction(i))
	}
	return json.Marshal(out)
}
