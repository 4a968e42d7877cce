package obeyed

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// OutsideGit returns the paths outside the work tree top that git reads for it: the git directory
// of a linked work tree with the one that it shares, of a submodule, or a separate one. They are
// absolute and without symbolic links.
//
// The work tree's .git file is text that could come from anywhere, for example from an archive that
// names the user's private repository. So a git directory counts only if it knows the work tree:
// its file gitdir or its setting core.worktree names it, or its index holds a file of it.
func OutsideGit(top string) []string {
	top = real(top)
	if fi, err := os.Lstat(filepath.Join(top, ".git")); top == "" || err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	git := real(gitDir(top))
	if git == "" || within(git, top) {
		return nil
	}
	common := real(commonDir(git))
	switch {
	case linked(git, common, top):
	case common == git && (ownTree(git, top) || indexOf(filepath.Join(git, "index"), top)):
	default:
		return nil
	}
	if !isGitDir(common) || within(common, top) {
		return nil
	}
	if !within(top, common) {
		return []string{common}
	}
	// The work tree is below the git directory: its other parts.
	var parts []string
	for _, name := range []string{"HEAD", "config", "config.worktree", "objects", "refs", "packed-refs", "shallow", "info", "logs", "index", "worktrees"} {
		if p := filepath.Join(common, name); real(p) == p && !within(top, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// linked reports whether git is what common holds for the linked work tree top (gitrepository-
// layout(5), worktrees/<id>).
func linked(git, common, top string) bool {
	if filepath.Dir(git) != filepath.Join(common, "worktrees") {
		return false
	}
	back := strings.TrimSpace(readFile(filepath.Join(git, "gitdir")))
	return back != "" && real(from(git, back)) == filepath.Join(top, ".git")
}

// ownTree reports whether the configuration of a git directory names top as its work tree, as that
// of a submodule does.
func ownTree(git, top string) bool {
	settings, err := review.ParseGitConfig([]byte(readFile(filepath.Join(git, "config"))))
	if err != nil {
		return false
	}
	tree := ""
	for _, s := range settings {
		if s.Key == "core.worktree" {
			tree = s.Value
		}
	}
	return tree != "" && real(from(git, tree)) == top
}

// isGitDir reports whether git would take dir for a git directory.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// maxIndex bounds the size of an index that is read.
const maxIndex = 256 << 20

// indexOf reports whether an index was written for the work tree top: some file of it has the size
// and the time of change that the index recorded. Whoever makes an archive cannot set that time.
func indexOf(path, top string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() > maxIndex {
		return false
	}
	var idx index.Index
	if index.NewDecoder(bufio.NewReader(f)).Decode(&idx) != nil {
		return false
	}
	return slices.ContainsFunc(idx.Entries, func(e *index.Entry) bool {
		fi, err := os.Lstat(filepath.Join(top, filepath.FromSlash(e.Name)))
		return err == nil && fi.Mode().IsRegular() && int64(e.Size) == fi.Size() && tree.ChangedAt(fi).Equal(e.CreatedAt)
	})
}

// real returns path without symbolic links, or "" if there is no such file.
func real(path string) string {
	if path == "" {
		return ""
	}
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return p
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	_, ok := below(path, dir)
	return ok
}
