package luthier_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestDocsSizes: a page can be read in one go.
func TestDocsSizes(t *testing.T) {
	limits := map[string]int64{"README.md": 8_000, "RATIONALE.md": 12_000}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") {
			limits[page] = 20_000
		}
	}
	for page, most := range limits {
		if info, err := os.Stat(page); err != nil {
			t.Error(err)
		} else if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d: split it", page, info.Size(), most)
		}
	}
}

// TestEvidence: the pages of evidence are what the Evidence lines of the tests say, and there are
// many of them.
func TestEvidence(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./internal/cmd/evidence", "-check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	links := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/evidence/") {
			links += len(testLink.FindAllString(readPage(t, page), -1))
		}
	}
	if links < 300 {
		t.Errorf("the pages of evidence link %d tests, want at least 300: Evidence lines are lost", links)
	}
}

// TestReadmeProgramCompiles builds the program that the README opens with, as it stands there.
func TestReadmeProgramCompiles(t *testing.T) {
	tier.Normal(t)
	if build(t, "README.md") == 0 {
		t.Error("the README has no Go program")
	}
}

// TestDocsProgramsCompile builds the programs of all other pages.
func TestDocsProgramsCompile(t *testing.T) {
	tier.Normal(t)
	var others []string
	for _, page := range pages(t) {
		if page != "README.md" {
			others = append(others, page)
		}
	}
	build(t, others...)
}

var block = regexp.MustCompile("(?ms)^```go\n(\\s*package main\n.*?)^```")

// build compiles the programs in the pages, which are the blocks of Go that begin with package
// main, and returns how many there are. It does not link them, which would be most of the work.
func build(t *testing.T, pages ...string) int {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tmp, replace, programs := t.TempDir(), map[string]string{}, []string(nil)
	for _, page := range pages {
		for i, m := range block.FindAllStringSubmatch(readPage(t, page), -1) {
			name := fmt.Sprintf("%s_%d", strings.NewReplacer("/", "_", ".", "_").Replace(page), i+1)
			src := filepath.Join(tmp, name+".go")
			if err := os.WriteFile(src, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			replace[filepath.Join(here, "examples", name, "main.go")] = src
			programs = append(programs, "./examples/"+name)
		}
	}
	if len(programs) == 0 {
		return 0
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"build", "-overlay", overlay, "-o", os.DevNull}, programs...)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return len(programs)
}
