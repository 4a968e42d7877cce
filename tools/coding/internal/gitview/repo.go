// Package gitview answers questions about a git repository as text for a model: status, diff, log,
// blame and show. It reads objects with go-git and the work tree through its host, and runs no
// program.
package gitview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// maxPath limits the length of a path in git's files, and the depth of its trees.
const maxPath = 4096

// ErrNoRepo means that the workspace is not in a repository.
var ErrNoRepo = errors.New("the workspace is not in a git repository; create one with shell: git init, or go on without git")

// Config sets where to look for a repository and how to read the files of its work tree.
type Config struct {
	// Dir is the workspace, absolute and without symbolic links, or empty if it has no path on this
	// machine.
	Dir   string
	Root  *os.Root // the workspace, opened
	Files Files
	// Rules returns the ignore rules of the workspace.
	Rules func() *ignore.Matcher
	// Resolve converts a path of a query into one relative to the workspace, or returns an error.
	Resolve func(p string) (string, error)
	// Temporary reports whether a file name is one of the host's temporary files.
	Temporary func(name string) bool
	// Attributes returns the text of the .gitattributes at the top of the workspace.
	Attributes func() string

	OutputBytes int // maximum size of a diff, a file or a blame
	ListEntries int // maximum number of entries of a status or a directory
}

// Files reads the work tree. Paths are relative to the workspace; info is the result of Lstat.
type Files interface {
	// Open opens a regular file.
	Open(rel string, info fs.FileInfo) (*os.File, error)
	// ReadAll returns the content of a regular file of at most max bytes.
	ReadAll(rel string, info fs.FileInfo, max int) ([]byte, error)
	// ReadDir lists a directory.
	ReadDir(rel string) ([]fs.DirEntry, error)
}

// Repo is the repository that holds a workspace, opened for reading. It runs nothing: no hooks,
// filters, file system monitors or credential helpers.
type Repo struct {
	cfg    Config
	r      *git.Repository
	top    string // the work tree's absolute path, if it has one
	dot    string // otherwise, the git directory's path in the workspace
	prefix string // path of the workspace in the work tree, "" or ending with "/": only paths below it are reported
}

// Open opens the repository that contains cfg.Dir. Its objects can be read until ctx ends.
func Open(ctx context.Context, cfg Config) (*Repo, error) {
	if cfg.Dir == "" {
		return openTree(ctx, cfg)
	}
	top, err := findDotGit(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkDotGit(top); err != nil {
		return nil, err
	}
	r, err := gitfs.Open(top, false)
	if err != nil {
		return nil, fmt.Errorf("the repository at %s cannot be opened: %w; use git with shell instead", top, err)
	}
	r.Storer = ctxStorer{r.Storer, ctx}
	g := &Repo{cfg: cfg, r: r, top: top}
	if rel, err := filepath.Rel(top, cfg.Dir); err == nil && rel != "." {
		g.prefix = filepath.ToSlash(rel) + "/"
	}
	return g, nil
}

// findDotGit returns the nearest directory at or above dir that holds a .git.
func findDotGit(dir string) (string, error) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ErrNoRepo
		}
		dir = up
	}
}

// checkDotGit checks that the directory that .git leads to belongs to the work tree top. Otherwise
// anyone who can write the workspace could point .git at any repository of the host, and read that
// through this tool from inside a sandbox.
func checkDotGit(top string) error {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		dest, err := filepath.EvalSymlinks(dotGit)
		if err != nil {
			return fmt.Errorf(".git is a symbolic link that leads nowhere: %w", err)
		}
		if !inDir(dest, top) {
			return fmt.Errorf(".git is a symbolic link that leads out of the work tree, to %s; this tool does not follow it, use git with shell", dest)
		}
		return nil
	case info.IsDir():
		if _, err := os.Lstat(filepath.Join(dotGit, "commondir")); err == nil {
			return errors.New(".git has a commondir although it is no linked work tree; use git with shell")
		}
		return nil
	}
	dir, err := readGitFile(dotGit, "gitdir: ", top)
	if err != nil {
		return err
	}
	if inDir(dir, top) {
		if _, err := os.Lstat(filepath.Join(dir, "commondir")); err != nil {
			return nil
		}
	}
	return checkBackLink(dir, top)
}

// readGitFile reads a small file that contains a path, and resolves the path against base.
func readGitFile(file, prefix, base string) (string, error) {
	data, err := regular.Read(file, maxPath)
	if err != nil {
		return "", err
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(data)), strings.TrimSpace(prefix))
	if !ok {
		return "", fmt.Errorf("%s does not say %q", file, prefix)
	}
	dir := strings.TrimSpace(text)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("%s points to what is not there: %w", file, err)
	}
	return real, nil
}

// checkBackLink checks that a git directory outside the work tree refers back to that work tree: a
// linked work tree has a file gitdir, a submodule a core.worktree.
func checkBackLink(dir, top string) error {
	refused := fmt.Errorf(".git points to %s, which does not point back to %s; this tool does not follow it, use git with shell", dir, top)
	if back, err := readGitFile(filepath.Join(dir, "gitdir"), "", dir); err == nil {
		common, err := readGitFile(filepath.Join(dir, "commondir"), "", dir)
		if filepath.Dir(back) == top && err == nil && filepath.Dir(filepath.Dir(dir)) == common {
			return nil
		}
		return refused
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return refused
	}
	r, err := gitfs.Open(dir, false)
	if err != nil {
		return refused
	}
	cfg, err := r.Config()
	if err != nil || cfg.Core.Worktree == "" {
		return refused
	}
	tree := cfg.Core.Worktree
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(dir, tree)
	}
	if real, err := filepath.EvalSymlinks(tree); err != nil || real != top {
		return refused
	}
	return nil
}

// has reports whether the git directory holds a file or directory.
func (g *Repo) has(name string) bool {
	var err error
	if g.top == "" {
		_, err = g.cfg.Root.Lstat(filepath.FromSlash(path.Join(g.dot, name)))
	} else {
		_, err = os.Lstat(filepath.Join(g.top, ".git", name))
	}
	return err == nil
}

func inDir(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// ctxStorer stops reading objects when its context ends; go-git's own walks do not check one.
type ctxStorer struct {
	storage.Storer
	ctx context.Context
}

func (s ctxStorer) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	return s.Storer.EncodedObject(t, h)
}

func (s ctxStorer) IterEncodedObjects(t plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	return s.Storer.IterEncodedObjects(t)
}

// commit resolves a revision. "" means HEAD.
func (g *Repo) commit(rev string) (*object.Commit, error) {
	if rev == "" {
		rev = "HEAD"
	}
	h, err := g.r.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		if rev == "HEAD" {
			return nil, errors.New("there is no commit yet")
		}
		return nil, fmt.Errorf("%q names no commit (%v); use log to see which there are", rev, err)
	}
	c, err := g.r.CommitObject(*h)
	if err != nil {
		return nil, fmt.Errorf("commit %s cannot be read: %w%s", h, err, g.shallowHint())
	}
	return c, nil
}

func (g *Repo) shallowHint() string {
	if s, err := g.r.Storer.Shallow(); err == nil && len(s) > 0 {
		return " (the clone is shallow: older history is not here)"
	}
	return ""
}

// headTree returns the tree of HEAD, or nil before the first commit.
func (g *Repo) headTree() (*object.Tree, error) {
	ref, err := g.r.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := g.r.CommitObject(ref.Hash())
	if err != nil {
		return nil, err
	}
	return c.Tree()
}

// path converts a path relative to the workspace to one relative to the repository.
func (g *Repo) path(p string) (string, error) {
	if p == "" {
		return strings.TrimSuffix(g.prefix, "/"), nil
	}
	rel, err := g.cfg.Resolve(p)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(path.Join(g.prefix, rel), "/"), nil
}

// local converts a path relative to the repository to one relative to the workspace.
func (g *Repo) local(p string) string { return strings.TrimPrefix(p, g.prefix) }

// below reports whether the repository path p is under or inside it; everything is below "".
func below(p, under string) bool {
	return under == "" || under == "." || p == under || strings.HasPrefix(p, under+"/")
}
