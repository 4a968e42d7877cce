package review

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// maxReviewed bounds a file whose content is reviewed.
const maxReviewed = 4 << 20

// contents returns both sides of a regular file; a side that is missing or not a file is empty.
func contents(p tree.Pair) (before, after []byte, err error) {
	if p.Was != nil && p.Was.Info.Mode().IsRegular() {
		if before, err = tree.ReadEntry(p.Was, maxReviewed); err != nil {
			return nil, nil, err
		}
	}
	if p.Now != nil && p.Now.Info.Mode().IsRegular() {
		after, err = tree.ReadEntry(p.Now, maxReviewed)
	}
	return before, after, err
}

// reviewAttributes reports new lines of a .gitattributes file that make git run programs on files.
// The programs themselves are named in a configuration, which may be the user's own.
func reviewAttributes(before, after []byte) []Finding {
	had := map[string]bool{}
	for line := range bytes.Lines(before) {
		had[strings.TrimSpace(string(line))] = true
	}
	var out []Finding
	for line := range bytes.Lines(after) {
		text := strings.TrimSpace(string(line))
		if had[text] || strings.HasPrefix(text, "#") {
			continue
		}
		for _, field := range strings.Fields(text) {
			if f, bad := reviewAttribute(field); bad {
				out = append(out, f)
			}
		}
	}
	return out
}

func reviewAttribute(field string) (Finding, bool) {
	name, value, set := strings.Cut(field, "=")
	if !set || value == "" {
		return Finding{}, false
	}
	f := Finding{Rule: RuleGitAttributes, Severity: Refuse}
	switch name {
	case "filter":
		if value == "lfs" {
			f.Severity = Notice
		}
		f.Why = fmt.Sprintf("git passes files through the programs of the filter %q", value)
	case "diff", "merge":
		if builtinDriver(value) {
			return f, false
		}
		f.Why = fmt.Sprintf("git uses the programs of the %s driver %q", name, value)
	default:
		return f, false
	}
	return f, true
}

// builtinDriver reports whether a driver is part of git (gitattributes(5)).
func builtinDriver(name string) bool {
	switch name {
	case "ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain", "golang", "html", "java",
		"kotlin", "markdown", "matlab", "objc", "pascal", "perl", "php", "python", "ruby", "rust", "scheme", "tex",
		"text", "binary", "union", "lfs", "ours":
		return true
	}
	return false
}

// reviewModules reports new settings of a .gitmodules file.
func reviewModules(before, after []byte) []Finding {
	now, err := ParseGitConfig(after)
	if err != nil {
		return []Finding{{Rule: RuleGitModules, Severity: Refuse, Why: "cannot be understood: " + err.Error()}}
	}
	was, _ := ParseGitConfig(before)
	out := []Finding{{Rule: RuleGitModules, Severity: Notice, Why: "says where submodules come from"}}
	for _, s := range now {
		if slices.Contains(was, s) {
			continue
		}
		if why := suspectModule(s); why != "" {
			out = append(out, Finding{Rule: RuleGitModules, Severity: Refuse, Why: why})
		}
	}
	return out
}

func suspectModule(s Setting) string {
	section, rest, _ := strings.Cut(s.Key, ".")
	if section != "submodule" {
		return fmt.Sprintf("sets %s, which has no place there", s.Key)
	}
	i := strings.LastIndexByte(rest, '.')
	name := rest[i+1:]
	if i > 0 && (slices.Contains(strings.FieldsFunc(rest[:i], isSlash), "..") || strings.HasPrefix(rest, "-")) {
		return fmt.Sprintf("the submodule's name %q leads out of the git directory", rest[:i])
	}
	switch name {
	case "url":
		if strings.Contains(s.Value, "::") || strings.HasPrefix(s.Value, "-") || strings.HasPrefix(strings.ToLower(s.Value), "file:") || strings.HasPrefix(s.Value, "/") {
			return fmt.Sprintf("the address %q runs a program or reads the host's files", s.Value)
		}
	case "path":
		if strings.HasPrefix(s.Value, "-") || strings.HasPrefix(s.Value, "/") || slices.Contains(strings.FieldsFunc(s.Value, isSlash), "..") {
			return fmt.Sprintf("the path %q leads out of the workspace", s.Value)
		}
		if slices.ContainsFunc(strings.FieldsFunc(s.Value, isSlash), looksLikeGit) {
			return fmt.Sprintf("the path %q leads into the git directory", s.Value)
		}
	case "update":
		if strings.HasPrefix(s.Value, "!") {
			return "updates by a program"
		}
	}
	return ""
}

func isSlash(c rune) bool { return c == '/' || c == '\\' }
