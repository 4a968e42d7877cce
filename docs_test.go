package luthier_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	testLink = regexp.MustCompile(`\[((?:Test|Fuzz|Example|Benchmark)\w+)\]\(([^)]+_test\.go)\)`)
	pageLink = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

// TestDocsAreTrue checks that every link of the pages leads to a file, and every link that names a test to that test.
func TestDocsAreTrue(t *testing.T) {
	for _, page := range []string{"README.md", "BENCHMARKS.md", "RATIONALE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: dead link: %v", page, err)
			}
		}
		for _, m := range testLink.FindAllStringSubmatch(string(text), -1) {
			src, err := os.ReadFile(m[2])
			if err != nil || !strings.Contains(string(src), "func "+m[1]+"(") {
				t.Errorf("%s: %s has no %s", page, m[2], m[1])
			}
		}
	}
	readme, _ := os.ReadFile("README.md")
	if n := len(testLink.FindAllString(string(readme), -1)); n < 20 {
		t.Errorf("the README links %d tests; its table of features is missing", n)
	}
}
