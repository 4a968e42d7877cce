package luthier_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// promptPlaces lists the directories that hold texts for a model, and the number of texts in each.
// Every text that a model is shown is a .md file in a folder named prompts, or is named prompt*.md:
// to change what is said, change the file.
var promptPlaces = map[string]int{
	".":                    4, // the instructions of luthier.New
	"compaction/prompts":   2,
	"router/prompts":       8,
	"tools/prompts":        1,
	"tools/coding/prompts": 24,
}

// TestPromptFiles checks that promptPlaces lists every directory with prompts, and that no text is
// empty.
func TestPromptFiles(t *testing.T) {
	found := map[string]int{}
	for _, room := range []string{".", "compaction", "router", "tools"} {
		err := filepath.WalkDir(room, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if room == "." && p != "." || d.Name() == "testdata" {
					return fs.SkipDir
				}
				return nil
			}
			dir := filepath.ToSlash(filepath.Dir(p))
			named := strings.HasPrefix(d.Name(), "prompt") || strings.HasSuffix("/"+dir, "/prompts")
			if !named || filepath.Ext(p) != ".md" {
				return nil
			}
			found[dir]++
			text, err := os.ReadFile(p)
			if err == nil && (len(text) == 0 || text[len(text)-1] != '\n' || strings.TrimSpace(string(text)) == "") {
				t.Errorf("%s: the text is empty, or its last line has no end", p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(promptPlaces, found); d != "" {
		t.Errorf("the places of prompts (-want +got):\n%s", d)
	}
}
