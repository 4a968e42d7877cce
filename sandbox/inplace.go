package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// protectedPaths lists what the host executes later, or acts on by itself, at the top of a
// workspace in place. Those that exist when the sandbox opens are mounted read-only. Those that do
// not exist cannot be; Review finds them afterwards.
var protectedPaths = []string{
	".git", ".gitmodules", ".gitattributes", ".husky", ".githooks",
	".vscode", ".idea", ".run", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".vim", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el",
	".mcp.json", ".claude", ".cursor", ".windsurf", ".gemini", ".codex", ".continue", ".roo", ".kiro", ".junie", ".opencode", "opencode.json",
	".envrc", ".mise.toml", "mise.toml", ".mise", ".tool-versions",
	".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".ssh", ".config", ".gitconfig", ".netrc",
}

// gitParts stay protected even if .git itself is not.
var gitParts = []string{".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".git/modules", ".git/commondir", ".git/worktrees"}

// checkUnprotect rejects names that are not protected: otherwise a typing error would go unnoticed.
func checkUnprotect(names []string) error {
	for _, n := range names {
		if n != "*" && !slices.Contains(protectedPaths, n) && !slices.Contains(gitParts, n) {
			return fmt.Errorf("Config.Unprotect %q is not among what is protected: *, %s", n, strings.Join(append(slices.Clone(protectedPaths), gitParts...), ", "))
		}
	}
	return nil
}
