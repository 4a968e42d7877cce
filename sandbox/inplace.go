package sandbox

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
)

// gitParts stay protected even if .git itself is not.
var gitParts = []string{".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".git/modules", ".git/commondir", ".git/worktrees"}

// bareParts are protected in a bare repository in the workspace.
var bareParts = []string{"hooks", "config", "config.worktree", "info", "commondir"}

// maxProtected is the most paths of a workspace that are protected: each is a mount.
const maxProtected = 512

// protectedIn lists what the host executes later, or acts on by itself, in a workspace in place:
// paths at the top that the table of package review knows, what the host's own git takes from the
// workspace, and the git directories of repositories in it. Those that exist when the sandbox opens
// are mounted read-only. Those that do not exist cannot be; Review finds them afterwards.
func protectedIn(dir string) []string {
	var out []string
	var paths review.Paths
	var walk func(at string, depth int)
	walk = func(at string, depth int) {
		for _, e := range obeyed.Entries(filepath.Join(dir, filepath.FromSlash(at))) {
			rel := e.Name()
			if at != "." {
				rel = at + "/" + rel
			}
			switch {
			case review.IsGitName(rel) || paths.Walled(rel, e.IsDir()):
				out = append(out, rel)
			case e.IsDir() && depth > 0 && paths.Leads(rel):
				walk(rel, depth-1)
			}
		}
	}
	walk(".", 2)
	repos, _ := obeyed.Repositories(dir)
	var trees []string
	for _, r := range repos {
		if r.Bare {
			for _, part := range bareParts {
				out = append(out, r.Path+"/"+part)
			}
			continue
		}
		trees = append(trees, r.Path)
		out = append(out, r.Path+"/.git")
	}
	places := obeyed.Find(dir, trees...)
	for _, rel := range append(places.Walls(), places.OtherNames(dir)...) {
		if !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out[:min(len(out), maxProtected)]
}

// checkUnprotect rejects names that are never protected: otherwise a typing error would go
// unnoticed.
func checkUnprotect(dir string, names []string) error {
	var paths review.Paths
	for _, n := range names {
		local := filepath.IsLocal(n) && n == path.Clean(n)
		if n == "*" || local && (path.Base(n) == ".git" || slices.Contains(gitParts, n) || paths.Walled(n, false) || paths.Walled(n, true) || paths.Leads(n)) {
			continue
		}
		if dir == "" || !slices.Contains(protectedIn(dir), n) {
			return fmt.Errorf("Config.Unprotect %q is not among what is protected in %q: *, %s, and what the host's git executes: hooks, programs and settings that its configuration names",
				n, dir, strings.Join(append(slices.Clone(gitParts), review.Patterns()...), ", "))
		}
	}
	return nil
}

// unprotected reports whether a path is among the names given, or below one of them.
func unprotected(names []string, rel string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return rel == n || strings.HasPrefix(rel, n+"/") })
}
