package retrieval_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
)

// TestUpdateKeepsMaxFiles checks that single files are added up to the limit, and that further
// files are skipped and reported.
func TestUpdateKeepsMaxFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a.go": animal("auk"), "b.go": animal("bear")})
	x := open(t, dir, retrieval.Config{MaxFiles: 3})
	names := []string{"c.go", "d.go", "e/f.go"}
	for _, n := range names {
		put(t, dir, n, animal("civet"))
	}
	if err := x.Update(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	is := func(when string, files int, skipped ...string) {
		t.Helper()
		s := x.Status()
		var got []string
		for _, f := range s.Skipped {
			if f.Reason == "too many files" {
				got = append(got, f.Path)
			}
		}
		if s.Files != files || layerNamed(t, s, "index").Files != files || !slices.Equal(got, skipped) {
			t.Errorf("%s: %d files, skipped %q; want %d, %q\n%v", when, s.Files, got, files, skipped, s)
		}
	}
	is("new ones", 3, "d.go", "e/f.go")
	put(t, dir, "b.go", animal("dingo"))
	if err := x.Update(t.Context(), "b.go"); err != nil {
		t.Fatal(err)
	}
	is("a change of what is there", 3, "d.go", "e/f.go")
	if got := filesFor(t, x, "dingo"); !slices.Equal(got, []string{"b.go"}) {
		t.Errorf("the change is found in %q", got)
	}
	if err := os.Rename(filepath.Join(dir, "a.go"), filepath.Join(dir, "z.go")); err != nil {
		t.Fatal(err)
	}
	if err := x.Update(t.Context(), "a.go", "z.go"); err != nil {
		t.Fatal(err)
	}
	is("a rename", 3, "d.go", "e/f.go")
	if err := x.Update(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	if s := x.Status(); s.Files != 3 {
		t.Errorf("the whole directory: %d files", s.Files)
	}
}
