package sandbox

import (
	"fmt"
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

// checkUnprotect refuses names that protect nothing: a slip there would go unseen.
func checkUnprotect(names []string) error {
	for _, n := range names {
		if n != "*" && !slices.Contains(protectedPaths, n) && !slices.Contains(gitParts, n) {
			return fmt.Errorf("Config.Unprotect %q is not among what is protected: *, %s", n, strings.Join(append(slices.Clone(protectedPaths), gitParts...), ", "))
		}
	}
	return nil
}
