package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

// TestWriteNew checks that what tests left under the name of a file that the host writes, such as a
// FIFO or a link out of the directory, is replaced.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a.go")
	kinds := append(regulartest.Kinds(t), regulartest.Kind{Name: "link", Make: func(path string) error { return os.Symlink(outside, path) }})
	for _, k := range kinds {
		regulartest.Place(t, name, k)
		regulartest.Within(t, func() {
			if err := writeNew(name, []byte("new")); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		})
		if b, err := os.ReadFile(name); string(b) != "new" || err != nil {
			t.Errorf("%s: %q, %v", k.Name, b, err)
		}
	}
	if b, err := os.ReadFile(outside); string(b) != "kept" || err != nil {
		t.Errorf("outside: %q, %v", b, err)
	}
}
