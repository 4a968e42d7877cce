package retrieval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A Tree is a workspace whose files this process can open, wherever it is: the directory of a
// sandbox that other processes see under another path, or under none.
type Tree interface {
	// Name is the workspace's path as commands see it. No file is opened by it.
	Name() string
	// ID identifies the workspace for as long as its index is kept. The ID of a fork is that of
	// its parent, a dot and a text of its own.
	ID() string
	// Generation changes when other files may have taken the place of those of the tree, such as
	// after a fork.
	Generation() uint64
	// View lets do read the tree. The root is valid until do returns. Calls do not nest.
	View(ctx context.Context, do func(root *os.Root) error) error
}

// OpenTree opens the index of a tree as [Open] does for a directory. The index is kept by the ID of
// the tree. A new index of a fork begins with that of its nearest ancestor that has one, or with
// that of [Config.Base], and reads only files that look different.
//
// A tree that changes its generation is compared with its index before the next answer. It is not
// watched: [Config.Watch] scans it from time to time. The git log comes from [Config.GitDir] alone,
// since commands may have written the .git in the tree.
func OpenTree(ctx context.Context, tree Tree, cfg Config) (*Index, error) {
	x, err := newTreeIndex(ctx, tree, cfg)
	if err != nil {
		return nil, fmt.Errorf("retrieval: open %s: %w", tree.Name(), err)
	}
	return x.start(ctx)
}

func newTreeIndex(ctx context.Context, tree Tree, cfg Config) (*Index, error) {
	if tree.ID() == "" {
		return nil, errors.New("the tree has no ID, by which its index is kept")
	}
	x := emptyIndex(tree.Name(), cfg)
	x.home = cfg.treeHome(tree.ID())
	base, err := cfg.baseOf(tree.ID())
	if err != nil {
		return nil, err
	}
	x.lent = &lent{tree: tree, history: filepath.Join(cfg.homes(), "history")}
	x.root = x.lent
	err = tree.View(ctx, func(root *os.Root) error {
		x.cfg.Ignore = cfg.ignoredIn(root, x.home)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, x.openLayers(ctx, base, codestore.Options{MaxFileSize: cfg.MaxFileSize, Tree: x.lent, SharesFiles: true})
}

// treeHome returns the directory that holds all indexes of a tree. No directory has the same one,
// since a path holds no NUL.
func (c *Config) treeHome(id string) string {
	sum := sha256.Sum256([]byte("tree\x00" + id))
	return filepath.Join(c.homes(), "tree-"+hex.EncodeToString(sum[:16]))
}

// maxAncestors limits the ancestors of a fork whose index is looked for.
const maxAncestors = 64

// baseOf returns the directory of the index that a new index of a tree begins with, or "".
func (c *Config) baseOf(id string) (string, error) {
	for range maxAncestors {
		i := strings.LastIndexByte(id, '.')
		if i <= 0 {
			break
		}
		id = id[:i]
		home := c.treeHome(id)
		if codestore.Exists(filepath.Join(home, wordsFormat().Name)) {
			return home, nil
		}
	}
	if c.Base == "" {
		return "", nil
	}
	home, err := c.home(c.Base)
	if err != nil {
		return "", fmt.Errorf("base: %w", err)
	}
	return home, nil
}

// ignoredIn returns the patterns of files that are not indexed, see [Config.ignored].
func (c *Config) ignoredIn(root *os.Root, home string) []string {
	out := slices.Clip(c.Ignore)
	top, err := root.Stat(".")
	if err != nil {
		return out
	}
	caches, err := resolved(filepath.Dir(home))
	if err != nil {
		return out
	}
	for up, below := caches, ""; ; up, below = filepath.Dir(up), filepath.Join(filepath.Base(up), below) {
		if is, err := os.Stat(up); err == nil && os.SameFile(is, top) {
			if below == "" {
				return append(out, "/"+literal.Replace(filepath.Base(home))+"/", "/history/")
			}
			return append(out, "/"+literal.Replace(filepath.ToSlash(below))+"/")
		}
		if up == filepath.Dir(up) {
			return out
		}
	}
}

// current compares a lent tree with its index if its generation has changed since the last scan. It
// returns an error if the tree can no longer be read.
func (x *Index) current(ctx context.Context) error {
	if x.lent == nil || !x.words.isReady() {
		return nil
	}
	if x.lent.replaced() {
		return x.Update(ctx)
	}
	if x.closed.Load() {
		return ErrClosed
	}
	if err := x.lent.tree.View(ctx, func(*os.Root) error { return nil }); err != nil {
		return &worktree.RefusedError{Err: err}
	}
	return nil
}

// recorded returns the files that the index has recorded, so that a first scan need not read those
// that look unchanged.
func (x *Index) recorded() *worktree.Tree {
	var files []worktree.File
	err := codestore.Guard(func() error {
		view, err := x.words.store.View()
		if err != nil {
			return err
		}
		defer view.Close()
		files = view.Files()
		return nil
	})
	if err != nil {
		return nil
	}
	return &worktree.Tree{Files: files}
}
