package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

func TestSweepTakesOnlyWhatIsAbandoned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	make := func(name string) string {
		p := filepath.Join(dir, name)
		sandboxtest.Write(t, p, "tmp/deep/file", "x")
		return p
	}
	used, err := lockDir(make("luthier-sandbox-used"))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	dead, err := lockDir(make("luthier-sandbox-dead"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "luthier-sandbox-dead/tmp/deep"), 0); err != nil {
		t.Fatal(err)
	}
	dead.Close()
	make("luthier-sandbox-young")
	make("other")
	if err := os.Symlink("other", filepath.Join(dir, "luthier-sandbox-link")); err != nil {
		t.Fatal(err)
	}
	odd := make("luthier-sandbox-odd")
	if err := os.Symlink("/dev/null", filepath.Join(odd, Lock)); err != nil {
		t.Fatal(err)
	}
	check := func(now time.Time, wantN int, want ...string) {
		t.Helper()
		n, err := Sweep(dir, now)
		if err != nil || n != wantN {
			t.Errorf("swept %d, %v, want %d", n, err, wantN)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if !slices.Equal(left, want) {
			t.Errorf("left %q, want %q", left, want)
		}
	}
	check(time.Now(), 1, "luthier-sandbox-link", "luthier-sandbox-odd", "luthier-sandbox-used", "luthier-sandbox-young", "other")
	check(time.Now().Add(time.Hour), 1, "luthier-sandbox-link", "luthier-sandbox-odd", "luthier-sandbox-used", "other")
}

// TestSweepLeavesTheNew checks that when hosts that share a directory make and sweep at the same
// time, nobody's new scratch directory is taken for a dead host's.
func TestSweepLeavesTheNew(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := t.TempDir()
	done := make(chan struct{})
	var sweepers, makers sync.WaitGroup
	for range 4 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if n, err := Sweep(dir, time.Now()); n > 0 || err != nil {
					t.Errorf("swept %d in use, %v", n, err)
				}
			}
		})
	}
	for range 4 {
		makers.Go(func() {
			for range 150 {
				path, lock, err := New(dir, "")
				if err != nil {
					t.Errorf("make scratch: %v", err)
					return
				}
				if err := errors.Join(os.Mkdir(filepath.Join(path, "tmp"), 0o700), tree.Remove(path), lock.Close()); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	makers.Wait()
	close(done)
	sweepers.Wait()
}
