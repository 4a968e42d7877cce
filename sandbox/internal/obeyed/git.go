package obeyed

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// repository finds what git executes, or reads settings from, when the host uses it in top.
func (f *finder) repository(top string) {
	git := gitDir(top)
	if git == "" && top != f.dir {
		return
	}
	f.read = map[string]bool{}
	var settings []setting
	for _, file := range hostConfigs(f.home) {
		settings = append(settings, f.config(file, 0)...)
	}
	for _, s := range fromEnv() {
		settings = append(settings, s)
		if isInclude(s.Key) {
			settings = append(settings, f.config(f.expand(top, s.Value), 0)...)
		}
	}
	if git != "" {
		common := commonDir(git)
		for _, file := range []string{filepath.Join(common, "config"), filepath.Join(git, "config.worktree")} {
			settings = append(settings, f.config(file, 0)...)
		}
		f.hooks(filepath.Join(common, "hooks"))
	}
	for _, s := range settings {
		f.setting(top, s)
	}
}

// gitDir returns the git directory of a work tree, or "" if there is none.
func gitDir(top string) string {
	git := filepath.Join(top, ".git")
	fi, err := os.Stat(git)
	switch {
	case err != nil:
		return ""
	case fi.IsDir():
		return git
	}
	line, ok := strings.CutPrefix(strings.TrimSpace(readFile(git)), "gitdir:")
	if !ok {
		return ""
	}
	return from(top, strings.TrimSpace(line))
}

// commonDir returns the directory that the work trees of a repository share.
func commonDir(git string) string {
	if c := strings.TrimSpace(readFile(filepath.Join(git, "commondir"))); c != "" {
		return from(git, c)
	}
	return git
}

// from returns path relative to dir, unless it is absolute.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// maxRead bounds the size of a configuration that is read.
const maxRead = 1 << 20

// readFile returns the content of a regular file, or "" if there is none.
func readFile(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return ""
	}
	return string(b)
}

// hostConfigs lists the configurations of the system and the user, as git-config(1) does under
// FILES.
func hostConfigs(home string) []string {
	var out []string
	if f := os.Getenv("GIT_CONFIG_SYSTEM"); f != "" {
		out = append(out, f)
	} else if os.Getenv("GIT_CONFIG_NOSYSTEM") == "" {
		out = append(out, "/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
		if runtime.GOOS == "windows" {
			out = append(out, filepath.Join(os.Getenv("ProgramFiles"), "Git", "etc", "gitconfig"))
		}
	}
	if f := os.Getenv("GIT_CONFIG_GLOBAL"); f != "" {
		return append(out, f)
	}
	if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		out = append(out, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		out = append(out, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		out = append(out, filepath.Join(home, ".gitconfig"))
	}
	return out
}

// setting is a setting with the directory of its file.
type setting struct {
	review.Setting
	dir string
}

// fromEnv returns the settings that the environment gives (GIT_CONFIG_COUNT).
func fromEnv() []setting {
	n, err := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	if err != nil {
		return nil
	}
	var out []setting
	for i := range min(n, 1000) {
		key := os.Getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i))
		out = append(out, setting{Setting: review.Setting{Key: lowerKey(key), Value: os.Getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))}})
	}
	return out
}

// lowerKey brings the section and the name of a key into lower case.
func lowerKey(key string) string {
	i, j := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if i < 0 {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:i]) + key[i:j] + strings.ToLower(key[j:])
}

// maxIncludes is the depth to which git follows includes.
const maxIncludes = 10

// config reads a configuration with all that it includes, whatever the conditions. If the file is
// in the workspace, git reads settings from there.
func (f *finder) config(file string, depth int) []setting {
	if f.read[file] || depth > maxIncludes {
		return nil
	}
	f.read[file] = true
	for _, rel := range f.inside(file) {
		if !new(review.Paths).InGit(rel) {
			f.use(rel, review.RuleGitConfig, "git reads settings from it")
		}
	}
	settings, err := review.ParseGitConfig([]byte(readFile(file)))
	if err != nil {
		return nil // git does not go on with such a file either
	}
	dir := filepath.Dir(file)
	var out []setting
	for _, s := range settings {
		out = append(out, setting{s, dir})
		if isInclude(s.Key) {
			out = append(out, f.config(f.expand(dir, s.Value), depth+1)...)
		}
	}
	return out
}

// isInclude reports whether a setting names a further configuration.
func isInclude(key string) bool {
	return key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
}

// expand makes a path of a setting absolute.
func (f *finder) expand(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.home != "" {
		return filepath.Join(f.home, filepath.FromSlash(rest))
	}
	return from(dir, path)
}

func (f *finder) use(rel string, rule review.Rule, why string) {
	u := use{rel, review.Use{Rule: rule, Why: why}}
	if !f.out.seen[u] {
		f.out.seen[u] = true
		f.out.uses = append(f.out.uses, u)
	}
}

// hooks finds hooks that are in the workspace: the directory itself, links in it, and files that
// have other names.
func (f *finder) hooks(dir string) {
	const why = "git runs it as a hook"
	for _, rel := range f.inside(dir) {
		if !new(review.Paths).InGit(rel) {
			f.use(rel, review.RuleGitHook, why)
		}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real == f.dir {
		for _, name := range hookNames {
			f.use(name, review.RuleGitHook, why)
		}
		return
	}
	for _, e := range entries(dir, maxNames) {
		path := filepath.Join(dir, e.Name())
		for _, rel := range f.inside(path) {
			if !new(review.Paths).InGit(rel) {
				f.use(rel, review.RuleGitHook, why)
			}
		}
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && tree.Links(fi) > 1 {
			f.out.files = append(f.out.files, program{f.dir, fi})
		}
	}
}

// hookNames lists the hooks of githooks(5) that run on a work tree.
var hookNames = []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
	"commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive",
	"post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"}
