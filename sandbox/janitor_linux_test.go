package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestSweepTakesOnlyWhatIsAbandoned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	make := func(name string) string {
		p := filepath.Join(dir, name)
		write(t, p, "tmp/deep/file", "x")
		return p
	}
	used, err := lockScratch(make("luthier-sandbox-used"))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	dead, err := lockScratch(make("luthier-sandbox-dead"))
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
	if err := os.Symlink("/dev/null", filepath.Join(odd, scratchLock)); err != nil {
		t.Fatal(err)
	}
	check := func(now time.Time, wantN int, want ...string) {
		t.Helper()
		n, err := sweep(dir, now)
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
