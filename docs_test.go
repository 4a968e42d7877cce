package luthier_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

var (
	testLink = regexp.MustCompile(`\[((?:Test|Fuzz|Example|Benchmark)\w+)\]\(([^)]+_test\.go)\)`)
	pageLink = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

// TestDocsAreTrue checks that every link in the pages leads to a file, and that every link that
// names a test leads to that test.
func TestDocsAreTrue(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "RATIONALE.md", "CONTRIBUTING.md", "examples/fix/README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: dead link: %v", page, err)
			}
		}
		for _, m := range testLink.FindAllStringSubmatch(string(text), -1) {
			src, err := os.ReadFile(filepath.Join(filepath.Dir(page), m[2]))
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

// TestReadmeProgramCompiles builds the program at the beginning of the README, exactly as printed
// there.
func TestReadmeProgramCompiles(t *testing.T) {
	tier.Normal(t)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README has no Go program")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	src, overlay := filepath.Join(tmp, "main.go"), filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(src, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "examples/readme/main.go"): src}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o644); err != nil {
		t.Fatal(err)
	}
	// The program is compiled but not linked: linking is most of the work, and cannot fail because
	// of anything in the program.
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", os.DevNull, "./examples/readme").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
