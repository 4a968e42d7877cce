package obeyed

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/review"
)

// setting finds what a setting takes from the workspace if git runs in top.
func (f *finder) setting(top string, s setting) {
	switch {
	case s.Key == "core.hookspath":
		f.hooks(f.expand(top, s.Value))
	case s.Key == "core.attributesfile":
		for _, rel := range f.inside(f.expand(top, s.Value)) {
			f.use(rel, review.RuleGitAttributes, "git takes from it which programs files pass through")
		}
	case s.Key == "init.templatedir":
		for _, rel := range f.inside(f.expand(top, s.Value)) {
			f.use(rel, review.RuleGitHook, "git copies hooks from it into new repositories")
		}
	case isData(s.Setting):
	default:
		for _, path := range f.words(top, s.Value) {
			for _, rel := range f.inside(path) {
				if !new(review.Paths).InGit(rel) {
					f.use(rel, review.RuleGitHook, "git runs it: "+s.Key+" names it")
				}
			}
		}
	}
}

// isData reports settings whose value is never a program. Everything else may be one: git's list of
// settings that run something grows with every version.
func isData(s review.Setting) bool {
	section, rest, _ := strings.Cut(s.Key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "alias":
		return !strings.HasPrefix(s.Value, "!")
	case "user", "author", "committer", "branch", "color", "advice", "column", "url", "include", "includeif", "safe", "http", "https", "push", "pull",
		"fetch", "init", "status", "i18n", "pack", "index", "transfer", "extensions", "rerere", "rebase", "notes", "mailmap", "lfs", "apply", "format", "versionsort":
		return true
	case "remote":
		return name != "uploadpack" && name != "receivepack" && name != "vcs" && name != "proxy"
	case "submodule":
		return name != "update"
	case "core":
		switch rest {
		case "fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "alternaterefscommand":
			return false
		}
		return true
	}
	switch name {
	case "template", "ignorerevsfile", "excludesfile", "orderfile", "allowedsignersfile", "revocationfile", "signingkey", "required", "usehttppath", "username", "name",
		"binary", "xfuncname", "wordregex", "cachetextconv", "conflictstyle", "tool", "trustexitcode", "keepbackup", "prompt":
		return true
	}
	return false
}

// variable matches a leading variable, which most often is the top of the work tree.
var variable = regexp.MustCompile(`^\$(?:\{\w+\}|\w+)/`)

// script matches names that an interpreter is likely to be given.
var script = regexp.MustCompile(`\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php|lua|exe|bat|cmd|ps1)$`)

// words returns the absolute paths that the text of a command may name.
func (f *finder) words(top, command string) []string {
	var out []string
	for _, dir := range []string{top, f.dir} { // which may have spaces
		command = strings.ReplaceAll(command, dir+string(filepath.Separator), "./")
	}
	for _, w := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>'\"`=!,\\", r) }) {
		if rest := variable.FindString(w); rest != "" {
			if strings.HasPrefix(w, "$HOME/") || strings.HasPrefix(w, "${HOME}/") {
				out = append(out, filepath.Join(f.home, w[len(rest):]))
				continue
			}
			w = w[len(rest):]
		}
		if strings.HasPrefix(w, "-") || w == "" {
			continue
		}
		path := f.expand(top, w)
		_, err := os.Lstat(path)
		switch {
		case filepath.IsAbs(w):
			out = append(out, path)
			if err != nil { // such as "$(git rev-parse --show-toplevel)"/tools/x
				out = append(out, filepath.Join(top, w))
			}
		case strings.ContainsAny(w, `/`) || script.MatchString(w):
			out = append(out, path)
		case err == nil:
			if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
				out = append(out, path)
			}
		}
	}
	return out
}
