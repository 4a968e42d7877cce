package retrieval_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// forked copies a tree and makes a few changes to the copy.
func forked(t testing.TB, dir string) string {
	t.Helper()
	fork := t.TempDir()
	if err := os.CopyFS(fork, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	put(t, fork, "encoding/fork.go", animal("flamingo"))
	if err := os.Remove(filepath.Join(fork, "encoding/hex/hex.go")); err != nil {
		t.Fatal(err)
	}
	put(t, fork, "encoding/csv/reader.go", "package csv\n\n// Reader was rewritten, it reads pelicans.\ntype Reader struct{}\n")
	settle()
	return fork
}

// TestFork opens a copy of a tree with Config.Base: only the differences are built, and the answers
// are those of a new index.
//
// Evidence: retrieval · The index of a fork is built from the difference
func TestFork(t *testing.T) {
	dir, cache := goSource(t, "encoding"), t.TempDir()
	base := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, base)
	fork := forked(t, dir)
	var mu sync.Mutex
	built := map[string]int{}
	x := open(t, fork, retrieval.Config{CacheDir: cache, Base: dir, Progress: func(p retrieval.Progress) {
		mu.Lock()
		defer mu.Unlock()
		built[p.Stage] = p.TotalFiles // of the last stage, which is the build
	}})
	allReady(t, x)
	s := x.Status()
	for _, l := range s.Layers {
		if l.Rebuilt != "" || l.InMemory != "" || l.Err != nil || l.Files != s.Files {
			t.Errorf("%+v, of %d files", l, s.Files)
		}
		mu.Lock()
		if n := built[l.Name]; n != 2 {
			t.Errorf("%s: %d files are built, not the 2 that differ", l.Name, n)
		}
		mu.Unlock()
	}
	if diff := nearFresh(t, x, fork, "a fork", append(tenQueries, "flamingo", "pelicans reader")...); diff > 0 {
		t.Logf("scores differ by %.3f", diff)
	}
	if got := filesFor(t, x, "flamingo"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	if d, err := x.Definitions(t.Context(), "Dumper"); err != nil || len(d) != 0 {
		t.Errorf("what the fork lacks is defined: %v, %v", d, err)
	}
	// The base is unchanged.
	if got := filesFor(t, base, "flamingo"); len(got) != 0 {
		t.Errorf("the base finds what the fork has: %v", got)
	}
	asFresh(t, base, dir, "the base of a fork")
	// A fork works without its base, and the base without the fork.
	if err := base.Close(); err != nil {
		t.Fatal(err)
	}
	homes, _ := filepath.Glob(filepath.Join(cache, filepath.Base(dir)+"-*"))
	if len(homes) != 1 {
		t.Fatalf("homes %v", homes)
	}
	if err := os.RemoveAll(homes[0]); err != nil {
		t.Fatal(err)
	}
	x.Close()
	y := open(t, fork, retrieval.Config{CacheDir: cache, Base: dir})
	nearFresh(t, y, fork, "a fork without its base")
	if s := layerNamed(t, y.Status(), "index"); s.Rebuilt != "" {
		t.Errorf("%+v", s)
	}
}

// TestForkOfWhatIsNoUse forks trees whose index is missing, damaged, or still being built.
func TestForkOfWhatIsNoUse(t *testing.T) {
	tier.Normal(t)
	dir := lessGoSource(t, "encoding")
	filled := t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: filled})
	allReady(t, x)
	x.Close()
	fork := forked(t, dir)
	want := freshAnswers(t, fork)
	each := func(fn func(string) error) func(*testing.T, string) {
		return func(t *testing.T, cache string) {
			for _, f := range cacheFiles(t, cache) {
				os.Chmod(filepath.Join(cache, f), 0o644)
				if err := fn(filepath.Join(cache, f)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, hurt := range map[string]func(*testing.T, string){
		"no index": func(t *testing.T, cache string) { os.RemoveAll(cache) },
		"cut":      each(func(f string) error { fi, err := os.Stat(f); return firstError(err, os.Truncate(f, fi.Size()/2)) }),
		"empty":    each(func(f string) error { return os.Truncate(f, 0) }),
		"flipped": each(func(f string) error {
			b, err := os.ReadFile(f)
			if err == nil && len(b) > 0 {
				b[len(b)/2] ^= 0xff
			}
			return firstError(err, os.WriteFile(f, b, 0o644))
		}),
		"segments gone": each(func(f string) error {
			if strings.Contains(f, "manifest") {
				return nil
			}
			return os.Remove(f)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			cache := copyCache(t, filled)
			hurt(t, cache)
			x := open(t, fork, retrieval.Config{CacheDir: cache, Base: dir})
			allReady(t, x)
			for _, l := range x.Status().Layers {
				if !strings.Contains(l.Rebuilt, "cannot be taken over") || l.Err != nil {
					t.Errorf("%+v", l)
				}
			}
			answersAre(t, x, want, "a fork of nothing")
			x.Close()
			y := open(t, fork, retrieval.Config{CacheDir: cache, Base: dir})
			if s := layerNamed(t, y.Status(), "index"); s.Rebuilt != "" {
				t.Errorf("at the second open: %+v", s)
			}
		})
	}
	t.Run("a base that left its index", func(t *testing.T) {
		gone := goSource(t, "encoding")
		cache := t.TempDir()
		b := open(t, gone, retrieval.Config{CacheDir: cache})
		allReady(t, b)
		b.Close()
		fork := forked(t, gone)
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		x := open(t, fork, retrieval.Config{CacheDir: cache, Base: gone})
		allReady(t, x)
		if l := layerNamed(t, x.Status(), "index"); l.Rebuilt != "" {
			t.Errorf("%+v", l)
		}
		nearFresh(t, x, fork, "a fork of what is gone")
	})
	t.Run("a base by a relative path", func(t *testing.T) {
		t.Chdir(filepath.Dir(dir))
		x := open(t, fork, retrieval.Config{CacheDir: copyCache(t, filled), Base: filepath.Base(dir)})
		if l := layerNamed(t, x.Status(), "index"); l.Rebuilt != "" {
			t.Errorf("%+v", l)
		}
	})
	t.Run("a base that is gone", func(t *testing.T) {
		x, err := retrieval.Open(t.Context(), fork, retrieval.Config{CacheDir: t.TempDir(), Base: filepath.Join(dir, "nowhere")})
		if err != nil {
			t.Fatalf("a fork outlives its base: %v", err)
		}
		defer x.Close()
		answersAre(t, x, want, "a fork of nothing")
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestForksTogether opens many copies of one tree at once, each with its own changes.
func TestForksTogether(t *testing.T) {
	tier.Normal(t)
	dir, cache := lessGoSource(t, "encoding"), t.TempDir()
	base := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, base)
	var forks []string
	for range tier.Pick(3, 6, 6) {
		forks = append(forks, forked(t, dir))
	}
	var wg sync.WaitGroup
	for i, fork := range forks {
		wg.Go(func() {
			x, err := retrieval.Open(t.Context(), fork, retrieval.Config{CacheDir: cache, Base: dir})
			if err != nil {
				t.Error(err)
				return
			}
			defer x.Close()
			put(t, fork, "own.go", animal("crane")+strings.Repeat("//\n", i))
			if err := x.Update(t.Context(), "own.go"); err != nil {
				t.Error(err)
			}
			hits, err := x.Search(t.Context(), retrieval.Query{Text: "crane flamingo", K: 3})
			if err != nil || len(hits) == 0 {
				t.Errorf("fork %d: %v, %v", i, hits, err)
			}
		})
	}
	wg.Wait()
	if err := base.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	asFresh(t, base, dir, "the base of many forks")
}
