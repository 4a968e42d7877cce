package luthier_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	testLink = regexp.MustCompile(`\[((?:Test|Fuzz|Example|Benchmark)\w*)\]\(([^)]+_test\.go)\)`)
	fence    = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	inline   = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
)

// pages returns the Markdown pages of the repository, except test data and prompts.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (base == "testdata" || base == "prompts" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if strings.HasSuffix(base, ".md") && !strings.HasPrefix(base, "prompt") {
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocsLinks: every relative link of a page leads to a file, every anchor to a heading, and a
// link that names a test to a file with that test.
func TestDocsLinks(t *testing.T) {
	for _, page := range pages(t) {
		text := readPage(t, page)
		for _, fault := range deadLinks(page, text) {
			t.Error(fault)
		}
		for _, m := range testLink.FindAllStringSubmatch(text, -1) {
			src, err := os.ReadFile(path.Join(path.Dir(page), m[2]))
			if err == nil && !strings.Contains(string(src), "\nfunc "+m[1]+"(") {
				t.Errorf("%s: %s has no %s", page, m[2], m[1])
			}
		}
	}
}

// TestDocsLinksSeesFaults plants links that lead nowhere, next to some that do not.
func TestDocsLinksSeesFaults(t *testing.T) {
	const text = "# One thing\n\n## `go run` & more, again\n\n## One thing\n\n```\n[x](code.md)\n```\n`[x](code.md)`\n" +
		"[a](#one-thing) [b](#go-run--more-again) [c](#one-thing-1) [d](../go.mod) [e](https://example.com/x) [`f`](../agent/doc.go#L3)\n" +
		"[g](#one-thing-2) [h](gone.md) [`i`](../CONTRIBUTING.md#nowhere)\n"
	got := deadLinks("docs/page.md", text)
	want := []string{"#one-thing-2", "gone.md", "../CONTRIBUTING.md#nowhere"}
	if len(got) != len(want) {
		t.Fatalf("faults: %q", got)
	}
	for i, w := range want {
		if !strings.Contains(got[i], w) {
			t.Errorf("fault %q, want %q", got[i], w)
		}
	}
}

// deadLinks returns the relative links of a page that do not resolve.
func deadLinks(page, text string) (faults []string) {
	for _, m := range pageLink.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), "x"), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, ":") {
			continue
		}
		to, content := page, text
		if target != "" {
			to = path.Join(path.Dir(page), target)
			if _, err := os.Stat(to); err != nil {
				faults = append(faults, fmt.Sprintf("%s: dead link %s", page, m[1]))
				continue
			}
		}
		if anchor == "" || !strings.HasSuffix(to, ".md") {
			continue
		}
		if target != "" {
			b, err := os.ReadFile(to)
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s: link %s: %v", page, m[1], err))
				continue
			}
			content = string(b)
		}
		if !slices.Contains(anchors(content), anchor) {
			faults = append(faults, fmt.Sprintf("%s: no heading for %s", page, m[1]))
		}
	}
	return faults
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(m[1]), "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		n := seen[slug]
		seen[slug]++
		if n > 0 {
			slug = fmt.Sprintf("%s-%d", slug, n)
		}
		out = append(out, slug)
	}
	return out
}
