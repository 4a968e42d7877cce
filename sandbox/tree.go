package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/treefd"
)

// Treer is implemented by sandboxes whose workspace this process can open: those of this machine.
type Treer interface {
	// Tree opens the workspace as commands see it. The tree must be closed; it ends with the
	// sandbox at the latest.
	Tree(ctx context.Context) (*Tree, error)
}

// Tree is a workspace, open for the host's process: what it reads and changes is what the commands
// of the sandbox see, also if the workspace is a snapshot or a fork that has no path on this
// machine. Make one with [Treer] or, for a plain directory, with [DirTree]. All methods may be
// called concurrently.
//
// A call of View or Change sees one state of the workspace. Fork, Restore, Adopt and Export wait
// until the calls that run have returned, and calls that come later wait for them. The *os.Root is
// valid only during the call. If it is kept, it is refused after the next fork, and the kernel
// refuses writes through it: what forks share cannot be changed. A file that is kept open for
// writing makes forks fail with [ErrBusy].
//
// The content is as hostile as the commands. Their links cannot lead out of an *os.Root, but a file
// may become a FIFO, a link or very large at any moment: open with O_NONBLOCK, look at what was
// opened, and read no more than is wanted.
type Tree struct {
	name, id string
	state    *treefd.State
	open     func(ctx context.Context) (*treefd.View, error)
	once     closeOnce
	whole    bool // state is only this tree's, and ends with it
}

// TreeOptions describes a directory as the workspace of commands that run elsewhere, for back ends.
type TreeOptions struct {
	// Name is the workspace's path as commands see it; empty means the directory's own.
	Name string
	// Origin is the directory that the workspace is a copy of, from which Tree.ID is made; empty
	// means that it is none.
	Origin string
	// UID and GID are the user and group that commands run as, and with which Tree.Change acts if
	// this process is root. Zero means this process's own.
	UID, GID int
}

// DirTree opens a directory as a tree: that of a workspace in place.
func DirTree(dir string) (*Tree, error) { return NewTree(dir, TreeOptions{}) }

// NewTree opens a directory of this machine that commands see as their workspace, such as one that
// a container mounts. It must not be replaced while the tree is open.
func NewTree(dir string, o TreeOptions) (*Tree, error) {
	real, err := resolveDir("directory", dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open tree: %w", err)
	}
	if o.Name == "" {
		o.Name = real
	}
	t := &Tree{name: o.Name, id: originID(cmp.Or(o.Origin, real), ""), state: &treefd.State{}, whole: true, open: func(context.Context) (*treefd.View, error) {
		return dirView(real, &treefd.View{UID: o.UID, GID: o.GID, As: o.UID != 0 && os.Geteuid() == 0})
	}}
	_ = t.state.Use() // it was made a moment ago
	if err := t.View(context.Background(), func(*os.Root) error { return nil }); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// dirView completes v, a view of a directory of the host.
func dirView(dir string, v *treefd.View) (*treefd.View, error) {
	var err error
	v.Root, err = regular.OpenRoot(dir)
	return v, err
}

// originID identifies a directory, or a commit of the repository there.
func originID(dir, rev string) string {
	sum := sha256.Sum256([]byte("luthier tree 1\x00" + dir + "\x00" + rev))
	return hex.EncodeToString(sum[:16])
}

// Name returns the workspace's path as commands and models see it. It may name another directory on
// this machine, or none: it is text, and not for opening files.
func (t *Tree) Name() string { return t.name }

// ID identifies the workspace, to key what is kept about it. It is the same for every sandbox over
// the same directory or commit. The ID of a fork is that of its parent, a dot and a text of its
// own. An ID contains no characters that are special in file names.
func (t *Tree) ID() string { return t.id }

// Generation returns how many times the workspace was forked or replaced: by Fork, Restore, Adopt
// and Merge. What a host remembers about files, such as their inodes, is to be compared again when
// it has changed, and watches are to be set again.
func (t *Tree) Generation() uint64 { return t.state.Generation() }

// View runs f with the tree and returns its error. It waits while the workspace is forked or
// replaced, until ctx ends. After Close it fails with [ErrClosed]. If the sandbox is closed
// meanwhile, f can do nothing more with the root, and View fails with ErrClosed if f failed by
// that. f must not call View, Change or Close of the tree, nor fork.
func (t *Tree) View(ctx context.Context, f func(*os.Root) error) error {
	return t.call(ctx, false, func(v *treefd.View) error { return f(v.Root) })
}

// Change is View with the rights of the user that commands run as, so that what f makes belongs to
// that user. It is only for changes to the tree: meanwhile f may be unable to open the host's own
// files, and goroutines that it starts do not have these rights. If this process is root, the
// kernel dumps no core of it afterwards.
func (t *Tree) Change(ctx context.Context, f func(*os.Root) error) error {
	return t.call(ctx, true, func(v *treefd.View) error {
		if !v.As {
			return f(v.Root)
		}
		return treefd.As(v.UID, v.GID, func() error { return f(v.Root) })
	})
}

// errReadOnly means that commands cannot write the workspace either.
var errReadOnly = fmt.Errorf("the workspace is read-only: %w", os.ErrPermission)

// call runs f with the view. Errors of f are returned as they are.
func (t *Tree) call(ctx context.Context, change bool, f func(*treefd.View) error) error {
	var own error
	err := error(ErrClosed)
	if !t.once.closed() {
		err = t.state.Call(ctx, t.open, func(v *treefd.View) error {
			if change && v.ReadOnly {
				return errReadOnly
			}
			own = f(v)
			return own
		})
	}
	if err == own {
		return err
	}
	if errors.Is(err, treefd.ErrOver) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return fmt.Errorf("sandbox: use tree of %s: %w", t.name, err)
}

// Close ends the use of the tree. Calls that run have a moment to return. Closing twice is
// harmless.
func (t *Tree) Close() error {
	return t.once.do(func() error {
		var err error
		if t.whole {
			t.state.Stop()
			err = t.state.Drain(false)
		} else {
			err = t.state.Release()
		}
		if err != nil {
			return fmt.Errorf("sandbox: close tree of %s: %w", t.name, err)
		}
		return nil
	})
}
