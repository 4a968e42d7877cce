package edit

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxHunks is the number of hunks taken from one commit, so that no commit dominates.
const maxHunks = 6

// historyEdits returns up to n hunks of the commits of a git repository, spread over its history.
func historyEdits(t testing.TB, repo string, n int) []realEdit {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).Output()
		if err != nil {
			t.Logf("git %v: %v", args, err)
		}
		return string(out)
	}
	if top, err := exec.Command("git", "-C", repo, "rev-parse", "--show-toplevel").Output(); err == nil { // not in a bare repository
		repo = strings.TrimSpace(string(top))
	}
	commits := strings.Fields(git("log", "--no-merges", "--format=%H"))
	var out []realEdit
	for k := range commits {
		if len(out) >= n {
			break
		}
		c := commits[k*7919%len(commits)] // a prime: spread over the history, the same each time
		got := 0
		for name := range strings.Lines(git("diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "--diff-filter=M", c)) {
			if name = strings.TrimSpace(name); got >= maxHunks || !sourceName(name) {
				continue
			}
			content := git("show", c+"^:"+name)
			if len(content) > 150_000 || !utf8.ValidString(content) || strings.Contains(content, "\r") || !strings.HasSuffix(content, "\n") {
				continue
			}
			for _, e := range hunksOf(content, git("diff-tree", "-p", "-U3", "--no-commit-id", c, "--", name)) {
				if got++; got <= maxHunks {
					e.Path = name
					out = append(out, e)
				}
			}
		}
	}
	return out[:min(n, len(out))]
}

// sourceName reports whether a file has code or text of the kinds that agents edit.
func sourceName(name string) bool {
	return slices.Contains([]string{".go", ".py", ".ts", ".js", ".rs", ".c", ".h", ".yaml", ".yml", ".md", ".rst", ".html", ".vue", ".css", ".sh", ".toml", ".json", ".rb", ".mk"}, path.Ext(name)) ||
		path.Base(name) == "Makefile"
}

// hunksOf parses a unified diff of one file.
func hunksOf(content, diff string) []realEdit {
	lines := strings.Split(content, "\n")
	var out []realEdit
	start, hunk := 0, []string(nil)
	flush := func() {
		e := realEdit{Content: content, Start: start, Hunk: hunk}
		if old := e.old(); len(hunk) > 0 && len(hunk) <= 80 && len(old) > 0 && start+len(old) <= len(lines) && slices.Equal(lines[start:start+len(old)], old) {
			out = append(out, e)
		}
		hunk = nil
	}
	in := false
	for l := range strings.Lines(diff) {
		l = strings.TrimSuffix(l, "\n")
		switch {
		case strings.HasPrefix(l, "@@ -"):
			flush()
			start, in = max(0, number(l[len("@@ -"):])-1), true
		case in && l != "" && strings.IndexByte(" +-", l[0]) >= 0:
			hunk = append(hunk, l)
		default:
			in = false // no newline at the end: too rare to care
		}
	}
	flush()
	return out
}

// number reads the digits that a text begins with.
func number(s string) int {
	n := 0
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = 10*n + int(s[i]-'0')
	}
	return n
}
