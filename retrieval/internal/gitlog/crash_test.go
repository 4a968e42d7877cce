package gitlog_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// writeForever is the work of the child of TestKilledWhileWriting: it lets a cache grow commit by
// commit, removes it, and starts again.
func writeForever(dir string) {
	cache := os.Getenv("HISTORY_TEST_CACHE")
	heads := strings.Fields(os.Getenv("HISTORY_TEST_HEADS"))
	for {
		for _, head := range heads {
			_, err := gitlog.Open(context.Background(), dir, gitlog.Options{Head: head, CacheDir: cache})
			if err != nil {
				os.Exit(3)
			}
		}
		if os.Getenv("HISTORY_TEST_LIMIT") != "" {
			time.Sleep(50 * time.Millisecond) // a signal may be on its way
			os.Exit(0)
		}
		names, _ := filepath.Glob(filepath.Join(cache, "history-*"))
		for _, name := range names {
			os.Remove(name)
		}
	}
}

// TestKilledWhileWriting repeatedly kills a process that writes the cache, and checks that the
// cache is complete and correct.
func TestKilledWhileWriting(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(1, 2)), 40)
	cache := t.TempDir()
	last := heads[len(heads)-1]
	want := say(open(t, r.dir, gitlog.Options{Head: last}))
	kills := tier.Pick(4, 10, 25)
	rng := rand.New(rand.NewPCG(3, 4))
	used := 0
	for i := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "HISTORY_TEST_WRITER="+r.dir, "HISTORY_TEST_CACHE="+cache,
			"HISTORY_TEST_HEADS="+strings.Join(heads, " "))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // a busy machine starts it slowly
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if names, _ := filepath.Glob(filepath.Join(cache, "history-*")); len(names) > 0 {
					break
				}
			}
		}
		time.Sleep(time.Duration(rng.IntN(100_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		l := open(t, r.dir, gitlog.Options{Head: last, CacheDir: cache})
		if l.Status().Cache != "" {
			t.Fatalf("after a kill the cache is not usable: %s", l.Status().Cache)
		}
		if l.Status().Cached > 0 {
			used++
		}
		if d := cmp.Diff(want, say(l)); d != "" {
			t.Fatalf("after a kill (-want +got):\n%s", d)
		}
	}
	if used == 0 {
		t.Error("no kill left a cache: the test tests nothing")
	}
}

// TestDamagedCache truncates the cache file at every byte and changes bytes of it. Each time,
// either the log must be read again or the cached data must be correct.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(5, 6)), 12)
	cache := t.TempDir()
	o := gitlog.Options{Head: heads[len(heads)-1], CacheDir: cache}
	want := say(open(t, r.dir, o))
	name := onlyFile(t, cache)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, r.dir, o)
		if l.Status().Cache == "" && l.Status().Read == 0 {
			t.Errorf("%s was not noticed", what)
		}
		if d := cmp.Diff(want, say(l)); d != "" {
			t.Fatalf("%s (-want +got):\n%s", what, d)
		}
	}
	step := 1 + len(whole)/tier.Pick(8, 16, 40)
	for n := rng.IntN(step); n < len(whole); n += step {
		check("a file that is cut off", whole[:n])
		b := append([]byte(nil), whole...)
		b[n] ^= byte(1 + rng.IntN(255))
		check("a changed byte", b)
	}
}

func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("want one file in the cache, there are %v (%v)", names, err)
	}
	return names[0]
}

// TestUnwritableCache checks that an unwritable directory disables the cache and nothing else.
func TestUnwritableCache(t *testing.T) {
	r := three(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, r.dir, gitlog.Options{CacheDir: filepath.Join(file, "cache")})
	if l.Len() != 3 || !strings.Contains(l.Status().Cache, "not written") {
		t.Errorf("%d commits, status %+v: want 3, and why there is no cache", l.Len(), l.Status())
	}
}

// TestManyAtOnce opens one repository from several goroutines with one cache, and queries one log
// from several.
func TestManyAtOnce(t *testing.T) {
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(9, 9)), 60)
	cache := t.TempDir()
	want := map[string]said{}
	for _, h := range heads[50:] {
		want[h] = say(open(t, r.dir, gitlog.Options{Head: h}))
	}
	shared := open(t, r.dir, gitlog.Options{Head: heads[59]})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range tier.Pick(2, 5, 5) {
				h := heads[50+(i*3+j)%10]
				l, err := gitlog.Open(context.Background(), r.dir, gitlog.Options{Head: h, CacheDir: cache})
				if err != nil {
					t.Error(err)
					return
				}
				if d := cmp.Diff(want[h], say(l)); d != "" {
					t.Errorf("at %s (-want +got):\n%s", h, d)
				}
				if d := cmp.Diff(want[heads[59]], say(shared)); d != "" {
					t.Errorf("a shared log (-want +got):\n%s", d)
				}
				if len(shared.Files()) > 0 {
					shared.Together(0, 5)
					shared.File("d0/alpha.go")
				}
			}
		})
	}
	wg.Wait()
}
