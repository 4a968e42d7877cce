package gitlog_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// mirror returns a real repository, or skips the test.
func mirror(tb testing.TB, name string) string {
	tb.Helper()
	dir := filepath.Join(os.Getenv("LUTHIER_MIRRORS"), name, "repo")
	if _, err := os.Stat(dir); err != nil || os.Getenv("LUTHIER_MIRRORS") == "" {
		tb.Skipf("no mirror of %s: set LUTHIER_MIRRORS to a folder of OWNER+NAME/repo", name)
	}
	return dir
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMirrors prints the cost of reading real repositories.
func TestMirrors(t *testing.T) {
	for _, name := range []string{"astropy+astropy", "sveltejs+svelte"} {
		dir := mirror(t, name)
		cache := t.TempDir()
		opts := gitlog.Options{GitDir: dir, CacheDir: cache}
		before := heap()
		l, err := gitlog.Open(context.Background(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		after := heap()
		t.Logf("%s: %+v heap %.1f MB", name, l.Status(), float64(after-before)/1e6)
		for range 3 {
			l, err = gitlog.Open(context.Background(), dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			l.Prepare()
			t.Logf("warm %v, index %v", l.Status().Took, time.Since(start))
		}
		after = heap()
		t.Logf("warm heap %.1f MB", float64(after-before)/1e6)
		files, _ := filepath.Glob(cache + "/*")
		fi, _ := os.Stat(files[0])
		t.Logf("cache %.1f MB", float64(fi.Size())/1e6)
		for _, q := range []string{"unit conversion of quantities fails for logarithmic units", "fix hydration of keyed each block"} {
			start := time.Now()
			got := l.ScoreFiles(gitlog.Words(q), gitlog.Params{})
			t.Logf("%s: %v", q, time.Since(start))
			for _, f := range got[:min(5, len(got))] {
				t.Logf("   %.3f %s", f.Score, l.Files()[f.File])
			}
		}
	}
}
