//go:build unix

package retrieval_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
)

// TestTimesSetBack changes a file while its size and modification time stay the same, as with
// archivers and restored backups. The next scan of the tree must notice the change.
func TestTimesSetBack(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.go": animal("magpie"), "b.go": animal("condor")})
	old := time.Now().Add(-time.Hour)
	for _, f := range []string{"a.go", "b.go"} {
		if err := os.Chtimes(filepath.Join(dir, f), old, old); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	cache := t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	put(t, dir, "a.go", animal("toucan"))
	if err := os.Chtimes(filepath.Join(dir, "a.go"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := filesFor(t, x, "toucan"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	// Swap two files, so that each has the size and time of the other.
	x.Close()
	for _, m := range [][2]string{{"a.go", "t"}, {"b.go", "a.go"}, {"t", "b.go"}} {
		if err := os.Rename(filepath.Join(dir, m[0]), filepath.Join(dir, m[1])); err != nil {
			t.Fatal(err)
		}
	}
	y := open(t, dir, retrieval.Config{CacheDir: cache})
	if got := filesFor(t, y, "toucan"); len(got) != 1 || got[0] != "b.go" {
		t.Errorf("found %v", got)
	}
	// Times in the future make no difference.
	late := time.Now().Add(48 * time.Hour)
	put(t, dir, "a.go", animal("gannet"))
	if err := os.Chtimes(filepath.Join(dir, "a.go"), late, late); err != nil {
		t.Fatal(err)
	}
	if got := filesFor(t, y, "condor"); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	if got := filesFor(t, y, "gannet"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// TestCacheWithinTree keeps the cache inside the tree and watches it: the index does not react to
// its own files again and again.
func TestCacheWithinTree(t *testing.T) {
	t.Parallel()
	for name, cache := range map[string]func(dir, link string) string{
		"below":           func(dir, _ string) string { return filepath.Join(dir, "cache [1]*!", "#2") },
		"the tree itself": func(dir, _ string) string { return dir },
		"by a link":       func(_, link string) string { return filepath.Join(link, "made", "later") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, link := tree(t, shop), filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(dir, link); err != nil {
				t.Fatal(err)
			}
			cacheWithin(t, dir, cache(dir, link))
		})
	}
}

func cacheWithin(t *testing.T, dir, cache string) {
	x := open(t, dir, retrieval.Config{CacheDir: cache, Watch: true})
	allReady(t, x)
	times := func() (n int, last time.Time) {
		for _, f := range cacheFiles(t, cache) {
			if fi, err := os.Stat(filepath.Join(cache, f)); err == nil {
				n++
				if fi.ModTime().After(last) {
					last = fi.ModTime()
				}
			}
		}
		return n, last
	}
	defer os.Remove(filepath.Join(dir, "new.go"))
	put(t, dir, "new.go", animal("heron"))
	eventually(t, "the change is found", func() bool { return len(filesFor(t, x, "heron")) == 1 })
	// Other layers may still take the change in. This would never end if the index saw its own
	// files.
	for end := time.Now().Add(time.Minute); ; {
		n, last := times()
		time.Sleep(time.Second)
		m, later := times()
		if m == n && later.Equal(last) {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%d files of %v became %d of %v without a change of the tree", n, last, m, later)
			break
		}
	}
	if got := first(t, x, "value added tax"); got != "tax/vat.go" {
		t.Errorf("found %q", got)
	}
	if s := x.Status(); s.Files != len(shop)+1 || len(s.Skipped) > 0 {
		t.Errorf("the index looks at itself:\n%v%v", s, s.Skipped)
	}
}

// TestLimits opens trees with more files than MaxFiles allows.
func TestLimits(t *testing.T) {
	dir := tree(t, shop)
	x := open(t, dir, retrieval.Config{MaxFiles: 3})
	s := x.Status()
	many := 0
	for _, f := range s.Skipped {
		if f.Reason == "too many files" {
			many++
		}
	}
	if s.Files != 3 || many != len(shop)-3 || layerNamed(t, s, "index").Files != 3 {
		t.Errorf("status\n%v%v", s, s.Skipped)
	}
	y := open(t, dir, retrieval.Config{Ignore: []string{"tax/", "*.md"}, MaxFileSize: 100})
	s = y.Status()
	if got := filesFor(t, y, "tax"); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	if skipped(s, "cart/cart.go") != "too large" || skipped(s, "tax/vat.go") != "" || s.Files != 1 {
		t.Errorf("status\n%v%v", s, s.Skipped)
	}
	if err := y.Update(t.Context(), "tax/vat.go", "cart/cart.go", "README.md"); err != nil {
		t.Fatal(err)
	}
	if s := y.Status(); s.Files != 1 || layerNamed(t, s, "index").Files != 1 {
		t.Errorf("after an update of what is left out:\n%v", s)
	}
}
