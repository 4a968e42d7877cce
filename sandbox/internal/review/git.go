package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// isGitData reports files below .git that hold history: they decide what is checked out, never what
// is run.
func isGitData(g string) bool {
	switch g {
	case "head", "index", "packed-refs", "fetch_head", "orig_head", "merge_head", "merge_msg", "merge_mode",
		"cherry_pick_head", "revert_head", "commit_editmsg", "description", "shallow", "auto_merge", "info/exclude", "info/refs":
		return true
	}
	for _, dir := range []string{"refs/", "logs/"} {
		if strings.HasPrefix(g, dir) {
			return !strings.HasPrefix(g, "refs/replace/")
		}
	}
	return strings.HasPrefix(g, "objects/") && g != "objects/info/alternates" && g != "objects/info/http-alternates"
}

// git reviews a file of a git directory; g is its path there, folded.
func (r *reviewer) git(p tree.Pair, g string) {
	rel := p.Now.Rel
	parts := strings.Split(g, "/")
	switch {
	case isGitData(g) && p.Now.Info.Mode().IsRegular():
		r.add(rel, RuleGitState, Notice, "changes the repository's history or index")
	case slices.Contains(parts, "hooks"):
		if strings.HasSuffix(g, ".sample") && parts[0] == "hooks" {
			r.add(rel, RuleGitState, Notice, "is a hook's sample, which git does not run")
			return
		}
		r.add(rel, RuleGitHook, Refuse, "git runs hooks by itself")
	case slices.Contains(parts, "config"), slices.Contains(parts, "config.worktree"):
		r.gitConfig(p)
	case parts[0] == "modules", parts[0] == "worktrees":
		r.add(rel, RuleGitState, Refuse, "is the git directory of a submodule or work tree")
	case g == "info/attributes":
		r.add(rel, RuleGitAttributes, Refuse, "chooses the programs through which git passes files")
	case g == "commondir" || g == "gitdir" || strings.HasSuffix(g, "alternates"):
		r.add(rel, RuleGitLink, Refuse, "makes git use another directory's configuration or objects")
	default:
		r.add(rel, RuleGitState, Refuse, "is a file of the git directory that no command needs to write")
	}
}

// gitConfig allows only settings known to be harmless: git's list of settings that run something
// grows with every version.
func (r *reviewer) gitConfig(p tree.Pair) {
	rel := p.Now.Rel
	if !p.Now.Info.Mode().IsRegular() {
		r.add(rel, RuleGitConfig, Refuse, "is no regular file")
		return
	}
	before, after, err := contents(p)
	if err != nil {
		r.add(rel, RuleUnreadable, Refuse, err.Error())
		return
	}
	bad, err := newSettings(before, after)
	if err != nil {
		r.add(rel, RuleGitConfig, Refuse, "cannot be understood: "+err.Error())
		return
	}
	var found []Finding
	for _, s := range bad {
		why := fmt.Sprintf("sets %s to %q; git may run a program or look elsewhere for it", shortened(s.Key), shortened(s.Value))
		found = append(found, Finding{Rule: RuleGitConfig, Severity: Refuse, Why: why})
	}
	r.addAll(rel, found)
	if len(bad) == 0 {
		r.add(rel, RuleGitState, Notice, "changes harmless settings")
	}
}

// newSettings lists the settings in after that are not known to be harmless and are not in before.
func newSettings(before, after []byte) ([]Setting, error) {
	now, err := ParseGitConfig(after)
	if err != nil {
		return nil, err
	}
	had := map[Setting]int{}
	if was, err := ParseGitConfig(before); err == nil {
		for _, s := range was {
			had[s]++
		}
	}
	var out []Setting
	for _, s := range now {
		if had[s] > 0 {
			had[s]--
			continue
		}
		if !harmlessSetting(s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// harmlessSetting reports whether a setting neither runs nor redirects anything.
func harmlessSetting(s Setting) bool {
	section, rest, _ := strings.Cut(s.Key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "user":
		return rest == "name" || rest == "email"
	case "core":
		switch rest {
		case "filemode", "ignorecase", "symlinks", "precomposeunicode", "logallrefupdates", "autocrlf", "eol", "safecrlf",
			"quotepath", "abbrev", "compression", "commentchar", "whitespace", "trustctime", "checkstat":
			return true
		case "repositoryformatversion":
			return s.Value == "0"
		}
	case "branch":
		switch name {
		case "remote":
			return s.Value == "." || isPlainWord(s.Value)
		case "merge", "rebase", "description":
			return true
		}
		return strings.HasPrefix(name, "vscode-") || name == "autosetuprebase"
	case "remote":
		return name == "fetch" || name == "tagopt" || name == "prune"
	case "color", "advice", "column":
		return true
	case "pull":
		return rest == "rebase" || rest == "ff"
	case "push":
		return rest == "default" || rest == "autosetupremote"
	case "merge":
		return rest == "conflictstyle" || rest == "ff"
	case "init":
		return rest == "defaultbranch"
	case "fetch":
		return rest == "prune"
	}
	return false
}

// isPlainWord reports whether a value is the name of a remote rather than an address.
func isPlainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// repositories finds directories that git treats as a bare repository: entering one is enough for
// git to use its configuration.
func (r *reviewer) repositories() {
	seen := map[*tree.Entry]bool{}
	for _, p := range r.c.Pairs {
		if p.Now == nil || p.Now.Up == nil || seen[p.Now.Up] || r.paths.InGit(p.Now.Rel) {
			continue
		}
		switch fold(tree.BaseName(p.Now.Rel)) {
		case "head", "objects", "refs", "commondir", "config", "hooks", "config.worktree", "index", "gitdir":
		default:
			continue
		}
		dir := p.Now.Up
		seen[dir] = true
		names, err := r.c.After.Names(dir)
		if err != nil {
			r.add(dir.Rel, RuleUnreadable, Refuse, err.Error())
			continue
		}
		has := map[string]bool{}
		for _, n := range names {
			has[fold(n)] = true
		}
		if has["head"] && (has["commondir"] || has["objects"] && has["refs"]) {
			r.add(dir.Rel, RuleGitBare, Refuse, "git takes this directory for a repository of its own and uses its configuration and hooks")
		}
	}
}
