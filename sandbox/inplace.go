package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// protectedPaths are what the host executes later, or acts on by itself, at the
// top of a workspace in place. What is there when the sandbox opens is mounted
// read-only. What is not there cannot be: Review finds it afterwards.
var protectedPaths = []string{
	".git", ".gitmodules", ".gitattributes", ".husky", ".githooks",
	".vscode", ".idea", ".run", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".vim", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el",
	".mcp.json", ".claude", ".cursor", ".windsurf", ".gemini", ".codex", ".continue", ".roo", ".kiro", ".junie", ".opencode", "opencode.json",
	".envrc", ".mise.toml", "mise.toml", ".mise", ".tool-versions",
	".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".ssh", ".config", ".gitconfig", ".netrc",
}

// gitParts stay protected where .git itself does not.
var gitParts = []string{".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".git/modules", ".git/commondir", ".git/worktrees"}

// protect lists what of a workspace in place is mounted over itself. Being a mount
// it can be neither renamed nor removed, and what replaces a part of it neither.
func (ws *workspace) protect(unprotect []string) []grant {
	if !ws.inPlace() || ws.readOnly || ws.dir == "" || slices.Contains(unprotect, "*") {
		return nil
	}
	var out []grant
	add := func(rel string, readOnly bool) {
		p := filepath.Join(ws.dir, filepath.FromSlash(rel))
		fi, err := os.Lstat(p)
		if err == nil && (fi.IsDir() || fi.Mode().IsRegular()) { // never where a link leads
			out = append(out, grant{path: p, readOnly: readOnly, owned: true, pinned: true})
		}
	}
	for _, rel := range protectedPaths {
		if !slices.Contains(unprotect, rel) {
			add(rel, true)
			continue
		}
		if rel != ".git" {
			continue
		}
		add(rel, false)
		for _, part := range gitParts {
			if !slices.Contains(unprotect, part) {
				add(part, true)
			}
		}
	}
	return out
}

// checkUnprotect refuses names that protect nothing: a slip there would go unseen.
func checkUnprotect(names []string) error {
	for _, n := range names {
		if n != "*" && !slices.Contains(protectedPaths, n) && !slices.Contains(gitParts, n) {
			return fmt.Errorf("Config.Unprotect %q is not among what is protected: *, %s", n, strings.Join(append(slices.Clone(protectedPaths), gitParts...), ", "))
		}
	}
	return nil
}
