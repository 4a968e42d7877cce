package luthier_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var placeholder = regexp.MustCompile(`[A-Z]{2,}`)

// TestContributingPaths: every path that CONTRIBUTING.md and AGENTS.md name exists, and each of the
// ten recipes names some.
func TestContributingPaths(t *testing.T) {
	for _, page := range []string{"CONTRIBUTING.md", "AGENTS.md"} {
		named, missing := paths(readPage(t, page))
		if named < 5 {
			t.Errorf("%s names %d paths", page, named)
		}
		for _, p := range missing {
			t.Errorf("%s names %s, which does not exist", page, p)
		}
	}
	_, rest, _ := strings.Cut(readPage(t, "CONTRIBUTING.md"), "\n## Ten recipes\n")
	section, _, _ := strings.Cut(rest, "\n### Also good to know\n")
	recipes := strings.Split(section, "\n### ")[1:]
	if len(recipes) != 10 {
		t.Errorf("CONTRIBUTING.md has %d recipes, want 10", len(recipes))
	}
	for _, r := range recipes {
		if n, _ := paths(r); n < 2 {
			title, _, _ := strings.Cut(r, "\n")
			t.Errorf("recipe %q names %d paths", title, n)
		}
	}
}

// TestContributingPathsSeesFaults plants paths that do not exist, next to some that do.
func TestContributingPathsSeesFaults(t *testing.T) {
	const text = "`agent/doc.go`, `go test ./agent/...`, `tools/coding/NAME.go`, `prompt*.md`, `agent.Model`, `// x/y`, `.md`, `CHANGELOG.md`" +
		" `agent/gone.go` `go run ./gone` `gone/NAME.go` `agent/gone*.md` `gone.md`"
	named, missing := paths(text)
	if got, want := strings.Join(missing, " "), "agent/gone.go gone gone/NAME.go agent/gone*.md gone.md"; named != 10 || got != want {
		t.Errorf("%d paths, missing %q, want %q", named, got, want)
	}
}

// paths returns how many paths a page names in inline code, and those that do not exist. A name in
// capitals stands for any name: then the folder above it must exist.
func paths(text string) (named int, missing []string) {
	for _, code := range inline.FindAllString(fence.ReplaceAllString(text, ""), -1) {
		code = strings.Trim(code, "`")
		if strings.HasPrefix(code, "//") {
			continue
		}
		for p := range strings.FieldsSeq(code) {
			ext := filepath.Ext(p)
			if strings.Contains(p, "…") || ext == p || !strings.Contains(p, "/") && ext != ".go" && ext != ".md" {
				continue
			}
			p = filepath.Clean(strings.TrimSuffix(p, "..."))
			named++
			if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
				continue
			}
			if at := placeholder.FindStringIndex(p); at != nil {
				dir, _ := filepath.Split(p[:at[0]])
				if _, err := os.Stat(filepath.Join(".", dir)); err == nil {
					continue
				}
			}
			missing = append(missing, p)
		}
	}
	return named, missing
}
