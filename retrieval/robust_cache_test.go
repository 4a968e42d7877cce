package retrieval_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// cacheFiles lists the files below a cache directory, except locks.
func cacheFiles(t *testing.T, cache string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(cache, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(d.Name(), "lock") {
			rel, _ := filepath.Rel(cache, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// copyCache copies a cache directory with the times of its files.
func copyCache(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// exact returns the answers of an index to all kinds of queries except searches.
func exact(t testing.TB, x *retrieval.Index) []string {
	t.Helper()
	got := grepped(t, x, retrieval.GrepQuery{Pattern: `func \w+Reader`})
	defs, err := x.Definitions(t.Context(), "NewDecoder")
	if err != nil {
		t.Fatalf("%v\n%v", err, x.Status())
	}
	for _, d := range defs {
		got = append(got, d.Path+" "+d.Signature)
	}
	return got
}

// TestDamagedCache truncates, flips, empties, removes and replaces each file of a cache. Open
// succeeds, all answers are those of the undamaged cache, and Status reports the damage.
//
// Evidence: retrieval · A damaged cache gives the answers of a whole one
func TestDamagedCache(t *testing.T) {
	testDamage(t, lessGoSource(t, "encoding/csv", "encoding/json", "encoding/base64"), tier.Pick(13, 5, 1))
}

// TestDamagedBigCache repeats TestDamagedCache with segments so large that they are mapped and
// checked only when they are read.
func TestDamagedBigCache(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes a large tree many times")
	}
	dir := t.TempDir()
	for _, d := range []string{"net", "encoding", "crypto", "go", "os"} { // with their tests: otherwise they would be too small to be mapped
		if err := os.CopyFS(filepath.Join(dir, d), os.DirFS(filepath.Join(goRoot(t), "src", d))); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	testDamage(t, dir, tier.Pick(0, 15, 1))
}

// testDamage applies every nth kind of damage to each file of a tree's cache. The parameter nth is
// odd, so that over time each file gets all kinds.
func testDamage(t *testing.T, dir string, nth int) {
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "Decode base64 and csv")
	cache := t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	want, wantExact := answers(t, x), exact(t, x)
	x.Close()
	if len(want) < 5 || len(wantExact) == 0 {
		t.Fatalf("only %d queries have answers", len(want))
	}
	at := func(share float64) func([]byte) []byte {
		return func(b []byte) []byte {
			if len(b) > 0 {
				b[min(int(share*float64(len(b))), len(b)-1)] ^= 0x41
			}
			return b
		}
	}
	cut := func(share float64) func([]byte) []byte {
		return func(b []byte) []byte { return b[:int(share*float64(len(b)))] }
	}
	damages := map[string]func([]byte) []byte{
		"flipped at the start": at(0), "flipped at 0.01": at(0.01), "flipped at 0.3": at(0.3), "flipped at 0.6": at(0.6), "flipped at 0.99": at(0.99), "flipped at the end": at(1),
		"cut to nothing": cut(0), "cut at 0.1": cut(0.1), "cut at 0.9": cut(0.9), "cut by a byte": func(b []byte) []byte { return b[:len(b)-1] },
		"longer": func(b []byte) []byte { return append(b, "more"...) }, "foreign": func([]byte) []byte { return []byte("#!/bin/sh\necho hello\n") },
		"zeros": func(b []byte) []byte { return make([]byte, len(b)) },
		"newer": func(b []byte) []byte { // a future version, in files that spell out their version
			return []byte(strings.NewReplacer(`"version":1`, `"version":99`, `"Version":1`, `"Version":99`).Replace(string(b)))
		},
		"gone": nil, "a directory": nil,
	}
	n := 0
	for _, f := range cacheFiles(t, cache) {
		for _, what := range slices.Sorted(maps.Keys(damages)) {
			if n++; n%nth != 0 {
				continue
			}
			damage := damages[what]
			t.Run(filepath.ToSlash(f)+"/"+what, func(t *testing.T) {
				t.Parallel()
				here := copyCache(t, cache)
				name := filepath.Join(here, f)
				raw, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				before := string(raw)
				os.Remove(name) // segments are read-only and must not be written in place
				switch {
				case damage != nil:
					raw = damage(raw)
					err = os.WriteFile(name, raw, 0o644)
				case what == "a directory":
					err = os.MkdirAll(filepath.Join(name, "sub"), 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
				x := open(t, dir, retrieval.Config{CacheDir: here})
				if diff := cmp.Diff(want, answers(t, x)); diff != "" {
					t.Errorf("other answers (-whole +damaged):\n%s", short(diff))
				}
				if diff := cmp.Diff(wantExact, exact(t, x)); diff != "" {
					t.Errorf("other lines or symbols (-whole +damaged):\n%s", diff)
				}
				s := x.Status()
				told := s.History
				for _, l := range s.Layers {
					told += l.Rebuilt + l.InMemory
					if l.Err != nil || !l.Ready {
						t.Errorf("%+v", l)
					}
				}
				isManifest := strings.Contains(f, "manifest")
				if damage != nil && before != string(raw) && (isManifest || strings.HasSuffix(f, ".seg")) && told == s.History {
					t.Errorf("status does not tell of it:\n%v", s)
				}
				x.Close()
				// The repaired cache stays repaired.
				y := open(t, dir, retrieval.Config{CacheDir: here})
				if what == "a directory" {
					return // the remaining damage may prevent the cache from being written
				}
				allReady(t, y)
				for _, l := range y.Status().Layers {
					if l.Rebuilt != "" || l.InMemory != "" {
						t.Errorf("at the second open: %+v", l)
					}
				}
			})
		}
	}
}

// TestCacheRemovedWhileOpen removes the cache of an open index.
func TestCacheRemovedWhileOpen(t *testing.T) {
	dir := tree(t, shop)
	cache := t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if got := first(t, x, "value added tax"); got != "tax/vat.go" {
		t.Errorf("found %q\n%v", got, x.Status())
	}
	put(t, dir, "new.go", "package n\n\n// Axolotl is new.\nfunc Axolotl() {}\n")
	if err := x.Update(t.Context(), "new.go"); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "axolotl"); got != "new.go" {
		t.Errorf("after an update found %q\n%v", got, x.Status())
	}
	if got := first(t, x, "value added tax"); got != "tax/vat.go" {
		t.Errorf("after an update, the old file: %q\n%v", got, x.Status())
	}
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "value added tax"); got != "tax/vat.go" {
		t.Errorf("after a scan: %q\n%v", got, x.Status())
	}
	x.Close()
	if len(cacheFiles(t, cache)) == 0 {
		t.Error("nothing is kept again")
	}
}

// TestCacheCutWhileOpen truncates the mapped segments of an open index, as a full or failing disk
// may. The result is an answer or an error, never a crash, and a scan repairs the index.
func TestCacheCutWhileOpen(t *testing.T) {
	dir := lessGoSource(t, "encoding")
	cache := t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	want := answers(t, x)
	for _, f := range cacheFiles(t, cache) {
		if strings.HasSuffix(f, ".seg") {
			if err := os.Chmod(filepath.Join(cache, f), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(filepath.Join(cache, f), 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, q := range tenQueries {
		if _, err := x.Search(t.Context(), retrieval.Query{Text: q}); err != nil {
			t.Logf("%q: %v", q, err)
		}
	}
	x.Map(t.Context(), 500)
	x.References(t.Context(), "Write")
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, answers(t, x)); diff != "" {
		t.Errorf("after a scan other answers:\n%s", short(diff))
	}
}

// TestTreeRemoved removes a tree while it is open, and creates it again.
func TestTreeRemoved(t *testing.T) {
	for _, watch := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "tree")
		write := func() {
			for name, text := range shop {
				put(t, dir, name, text)
			}
		}
		write()
		x := open(t, dir, retrieval.Config{Watch: watch})
		allReady(t, x)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := x.Search(t.Context(), retrieval.Query{Text: "value added tax"}); len(got) > 0 {
			t.Errorf("in a tree that is gone found %+v, %v", got, err)
		}
		if err := x.Update(t.Context()); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("update of a tree that is gone: %v", err)
		}
		told := x.Status().Err != nil
		for _, l := range x.Status().Layers {
			told = told || l.Err != nil
		}
		if !told {
			t.Errorf("status is silent:\n%v", x.Status())
		}
		write()
		if err := x.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := first(t, x, "value added tax"); got != "tax/vat.go" {
			t.Errorf("made again: found %q\n%v", got, x.Status())
		}
		if got := grepped(t, x, retrieval.GrepQuery{Pattern: "func VAT"}); !slices.Equal(got, []string{"tax/vat.go:4"}) {
			t.Errorf("made again: grep %v", got)
		}
		if s := x.Status(); s.Err != nil || layerNamed(t, s, "index").Err != nil {
			t.Errorf("made again:\n%v", s)
		}
	}
}

// TestEmptyTree opens a tree without files and adds files later.
func TestEmptyTree(t *testing.T) {
	dir := t.TempDir()
	cache := t.TempDir()
	for range 2 {
		x := open(t, dir, retrieval.Config{CacheDir: cache})
		allReady(t, x)
		if got := filesFor(t, x, "anything"); len(got) > 0 {
			t.Errorf("found %v", got)
		}
		if m, err := x.Map(t.Context(), 100); err != nil || m != "" {
			t.Errorf("map %q, %v", m, err)
		}
		if s := x.Status(); s.Files != 0 || !strings.Contains(s.String(), "ready, 0 files") {
			t.Errorf("status\n%v", s)
		}
		put(t, dir, "new.go", "package n\n\n// Axolotl is new.\nfunc Axolotl() {}\n")
		if err := x.Update(t.Context(), "new.go"); err != nil {
			t.Fatal(err)
		}
		if got := first(t, x, "axolotl"); got != "new.go" {
			t.Errorf("found %q", got)
		}
		os.Remove(filepath.Join(dir, "new.go"))
		if err := x.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
}
