package luthier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/sandbox"
)

// Export brings the changes out of the workspace after a review, as [Workspace.Export] does. It is
// the only way from a workspace that is not in place to the directory that it is a copy of.
func (c *Coder) Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error) {
	if c.on.workspace == nil {
		return nil, fmt.Errorf("luthier: export %s: %w", c.on.name(), sandbox.ErrInPlace)
	}
	return c.on.workspace.Export(ctx, o)
}

// Branch says how changes become a branch of the repository that a workspace is a copy of.
type Branch struct {
	Name    string // of the branch, which must not exist yet
	Message string // of its one commit; empty means the name
	// Allow decides about findings of the review, as sandbox.ExportOptions.Allow does.
	Allow func(sandbox.Finding) bool
}

// ExportBranch makes a branch of the changes, in the repository of the directory that the workspace
// is a copy of, and returns its commit. The commit's parent is the commit of the workspace or, for
// a copy of a directory, HEAD. Neither the work tree there nor its index changes. The author is the
// one of the repository's configuration. Commits that were made in the workspace are not taken
// over, only their result.
func ExportBranch(ctx context.Context, w Workspace, b Branch) (commit string, r *sandbox.Review, err error) {
	at := w.place()
	if at.kind == inPlace {
		return "", nil, fmt.Errorf("luthier: export branch %q: %w", b.Name, sandbox.ErrInPlace)
	}
	if at.Dir == "" {
		return "", nil, fmt.Errorf("luthier: export branch %q: the workspace is not known to be a copy of a directory here; use Export with a Patch", b.Name)
	}
	temp, err := os.MkdirTemp("", "luthier-branch-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(temp)
	g := &branchGit{ctx: ctx, dir: at.Dir, index: filepath.Join(temp, "index")}
	patch, err := os.Create(filepath.Join(temp, "patch"))
	if err != nil {
		return "", nil, err
	}
	r, err = w.Export(ctx, sandbox.ExportOptions{Patch: patch, Allow: b.Allow})
	if err == nil {
		_, err = patch.Seek(0, io.SeekStart)
	}
	if err == nil {
		commit, err = g.commit(b, at.Commit, patch)
	}
	if err = errors.Join(err, patch.Close()); err != nil {
		return "", r, fmt.Errorf("luthier: export branch %q: %w", b.Name, err)
	}
	return commit, r, nil
}

// branchGit runs git in the user's own repository, with a private index.
type branchGit struct {
	ctx        context.Context
	dir, index string
}

// commit applies a patch to a commit and makes a branch of the result.
func (g *branchGit) commit(b Branch, base string, patch io.Reader) (string, error) {
	ref := "refs/heads/" + b.Name
	if _, err := g.run(nil, "check-ref-format", "--branch", b.Name); err != nil {
		return "", fmt.Errorf("it is no name for a branch: %w", err)
	}
	if base == "" {
		base = "HEAD"
	}
	parent, err := g.run(nil, "rev-parse", "--verify", base+"^{commit}")
	if err != nil {
		return "", err
	}
	if _, err := g.run(nil, "read-tree", parent); err != nil {
		return "", err
	}
	if err := g.apply(patch); err != nil {
		return "", err
	}
	tree, err := g.run(nil, "write-tree")
	if err != nil {
		return "", err
	}
	message := b.Message
	if message == "" {
		message = b.Name
	}
	commit, err := g.run(strings.NewReader(message), "commit-tree", "-p", parent, "-F", "-", tree)
	if err != nil {
		return "", err
	}
	_, err = g.run(nil, "update-ref", "-m", "luthier: export", ref, commit, strings.Repeat("0", len(commit)))
	return commit, err
}

// apply applies a patch to the index. Without changes the patch is empty, which git refuses.
func (g *branchGit) apply(patch io.Reader) error {
	_, err := g.run(patch, "apply", "--cached", "--whitespace=nowarn", "--allow-empty", "-")
	return err
}

// run runs git and returns what it prints. Nothing that the repository could name is executed.
func (g *branchGit) run(in io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir, cmd.Stdin = g.dir, in
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+g.index, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
