package gitview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
)

// openTree opens the repository at the top of a tree that has no path on this machine. All of it
// must be in the tree: what .git refers to outside, such as the repository of a linked work tree,
// is not what commands see there.
func openTree(ctx context.Context, cfg Config) (*Repo, error) {
	dot, err := dotGitIn(cfg)
	if err != nil {
		return nil, err
	}
	r, err := gitfs.OpenIn(cfg.Root, dot)
	if err != nil {
		return nil, fmt.Errorf("the repository cannot be opened: %w; use git with shell instead", err)
	}
	r.Storer = ctxStorer{r.Storer, ctx}
	return &Repo{cfg: cfg, r: r, dot: dot}, nil
}

// dotGitIn returns the path of the git directory in the tree.
func dotGitIn(cfg Config) (string, error) {
	dot := ".git"
	info, err := cfg.Root.Lstat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNoRepo
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		dest, err := cfg.Root.Readlink(dot)
		if err != nil {
			return "", err
		}
		if dot, err = inTree(cfg, dest); err != nil {
			return "", fmt.Errorf(".git is a symbolic link that leads out of the workspace, to %s; this tool does not follow it, use git with shell", dest)
		}
	case !info.IsDir():
		text, err := regular.ReadIn(cfg.Root, dot, maxPath)
		if err != nil {
			return "", err
		}
		dest, ok := strings.CutPrefix(string(text), "gitdir:")
		if !ok {
			return "", errors.New(".git does not say where the repository is")
		}
		dest, _, _ = strings.Cut(strings.TrimSpace(dest), "\n")
		if dot, err = inTree(cfg, dest); err != nil {
			return "", fmt.Errorf(".git points out of the workspace, to %s, as that of a linked work tree or a submodule; this tool does not follow it, use git with shell", dest)
		}
	}
	if info, err = cfg.Root.Lstat(filepath.FromSlash(dot)); err != nil || !info.IsDir() {
		return "", fmt.Errorf(".git leads to %s, which is no directory of the workspace; use git with shell", dot)
	}
	return dot, whole(cfg, dot)
}

// inTree converts a destination of .git to a path in the tree.
func inTree(cfg Config, dest string) (string, error) {
	rel, err := cfg.Resolve(dest)
	if err == nil && !filepath.IsLocal(filepath.FromSlash(rel)) {
		err = errors.New("outside")
	}
	return rel, err
}

// whole returns an error if a git directory has a part elsewhere.
func whole(cfg Config, dot string) error {
	if _, err := cfg.Root.Lstat(filepath.FromSlash(path.Join(dot, "commondir"))); err == nil {
		return errors.New("the repository is that of a linked work tree (.git has a commondir); this tool does not follow it, use git with shell")
	}
	const borrowed = "objects/info/alternates"
	text, err := regular.ReadIn(cfg.Root, filepath.FromSlash(path.Join(dot, borrowed)), maxPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(text)) == "" {
		return nil
	}
	return errors.New("the repository has objects elsewhere (.git/" + borrowed + "); this tool does not read them, use git with shell")
}
