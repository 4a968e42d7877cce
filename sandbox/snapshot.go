package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Snapshot is a starting state of a workspace. Make one with SnapshotDir or
// SnapshotCommit; equal snapshots compare equal with ==.
type Snapshot struct {
	dir string
	rev string // empty for the directory as it is
}

// SnapshotDir is a directory as it is when the sandbox opens. Where the host can
// mount an overlay the directory is not copied, so it should not be changed
// while sandboxes over it are open: such changes may or may not show inside.
func SnapshotDir(dir string) Snapshot { return Snapshot{dir: dir} }

// SnapshotCommit is the tree of a commit, named as git rev-parse would take it,
// of the git repository that holds dir. The workspace has no .git directory;
// submodules are empty directories.
func SnapshotCommit(dir, rev string) Snapshot { return Snapshot{dir: dir, rev: rev} }

func (s Snapshot) isZero() bool { return s == Snapshot{} }

// String names the snapshot for messages, such as "/repo@HEAD".
func (s Snapshot) String() string {
	if s.rev == "" {
		return s.dir
	}
	return s.dir + "@" + s.rev
}

// checkout writes the commit's tree below the empty directory dst.
func (s Snapshot) checkout(ctx context.Context, dst string) error {
	repo, err := git.PlainOpenWithOptions(s.dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return fmt.Errorf("snapshot %v: open repository: %w", s, err)
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(s.rev))
	if err != nil {
		return fmt.Errorf("snapshot %v: resolve revision: %w", s, err)
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		return fmt.Errorf("snapshot %v: %w", s, err)
	}
	tree, err := commit.Tree()
	if err != nil {
		return fmt.Errorf("snapshot %v: %w", s, err)
	}
	// A tree may hold any names and links; os.Root keeps what is written below dst.
	root, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer root.Close()
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = writeEntry(root, repo, name, entry)
		}
		if err != nil {
			return fmt.Errorf("snapshot %v: write %q: %w", s, name, err)
		}
	}
}

func writeEntry(root *os.Root, repo *git.Repository, name string, e object.TreeEntry) error {
	if e.Mode == filemode.Dir || e.Mode == filemode.Submodule {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	blob, err := repo.BlobObject(e.Hash)
	if err != nil {
		return err
	}
	r, err := blob.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	if e.Mode == filemode.Symlink {
		target, err := io.ReadAll(io.LimitReader(r, 64<<10))
		if err != nil {
			return err
		}
		return root.Symlink(string(target), name)
	}
	perm := os.FileMode(0o644)
	if e.Mode == filemode.Executable {
		perm = 0o755
	}
	w, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
