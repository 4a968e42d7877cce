package regular_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

// TestReadDirIn checks that a directory's list has the names and kinds of os.ReadDir, in its order,
// and that Info describes the entries.
func TestReadDirIn(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 700 { // more than one call of the system returns
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("%d-%s", i, strings.Repeat("n", i%200))), make([]byte, i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range regulartest.Kinds(t) {
		regulartest.Place(t, filepath.Join(sub, k.Name), k)
	}
	_ = os.WriteFile(filepath.Join(sub, "bytes\xff\n"), nil, 0o600) // not every system has such names
	_ = os.Symlink("nowhere", filepath.Join(sub, "link"))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{".", "sub"} {
		want, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := regular.ReadDirIn(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(text(t, want), text(t, got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if _, err := regular.ReadDirIn(root, "missing"); !os.IsNotExist(err) {
		t.Errorf("a missing directory: %v", err)
	}
}

func text(t *testing.T, list []os.DirEntry) (lines []string) {
	t.Helper()
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%q %v %v %d %v", e.Name(), e.IsDir(), e.Type(), info.Size(), info.Mode()))
	}
	return lines
}
