package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/luthier-dev/luthier/internal/tier"
)

var quick = WatchOptions{Quiet: 20 * time.Millisecond, Delay: 200 * time.Millisecond}

// watching watches root for the duration of the test and checks that nothing is left running.
func watching(t *testing.T, root string, opts WatchOptions) *Watcher {
	t.Helper()
	w, err := Watch(t.Context(), root, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		select {
		case _, ok := <-w.Batches():
			if ok {
				t.Error("a batch after Close")
			}
		default:
			t.Error("Close did not wait for the end")
		}
		tier.NoLeaks(t)
	})
	return w
}

// until receives batches until all paths were named, directly or by a directory above.
func until(t *testing.T, w *Watcher, paths ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, p := range paths {
		missing[p] = true
	}
	deadline := time.After(time.Minute)
	for len(missing) > 0 {
		select {
		case b := <-w.Batches():
			if b.Rescan {
				t.Fatalf("asked to rescan: %s", b.Reason)
			}
			for _, p := range b.Paths {
				for m := range missing {
					if m == p || strings.HasPrefix(m, p+"/") {
						delete(missing, m)
					}
				}
			}
		case <-deadline:
			t.Fatalf("no batch named %v", missing)
		}
	}
}

func remove(t *testing.T, root string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(filepath.Join(root, p)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatch(t *testing.T) {
	root := write(t, map[string]string{".gitignore": "*.log\nbuild/\n", "a.go": "1", "dir/b.go": "1", "dir/sub/c.go": "1", "build/x": "1"})
	w := watching(t, root, quick)
	put(t, root, map[string]string{"a.go": "2", "dir/sub/c.go": "2", "x.log": "ignored", "build/x": "ignored"})
	until(t, w, "a.go", "dir/sub/c.go")
	remove(t, root, "dir/b.go")
	until(t, w, "dir/b.go")
	// Files in a new directory, created before it is watched.
	var made []string
	for i := range 30 {
		made = append(made, fmt.Sprintf("new%d/deep/er/f.go", i))
		put(t, root, map[string]string{made[i]: "1"})
	}
	until(t, w, made...)
	put(t, root, map[string]string{"new7/deep/er/f.go": "2", "new7/deep/g.go": "1"})
	until(t, w, "new7/deep/er/f.go", "new7/deep/g.go")
	// A renamed directory is watched under its new name.
	if err := os.Rename(filepath.Join(root, "new7"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	until(t, w, "new7", "moved")
	put(t, root, map[string]string{"moved/here.go": "1"})
	until(t, w, "moved/here.go")
	put(t, root, map[string]string{"moved/deep/er/f.go": "3"})
	until(t, w, "moved/deep/er/f.go")
	put(t, root, map[string]string{"dir/CACHEDIR.TAG": ""}) // now the whole directory is excluded
	until(t, w, "dir/sub/c.go")
	if w.Limit() != "" {
		t.Errorf("limit: %s", w.Limit())
	}
}

func wantRescan(t *testing.T, w *Watcher, reason string) {
	t.Helper()
	for {
		select {
		case b := <-w.Batches():
			if b.Rescan {
				if !strings.Contains(b.Reason, reason) {
					t.Errorf("reason %q, want %q", b.Reason, reason)
				}
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("no batch asked to rescan")
		}
	}
}

func TestWatchRules(t *testing.T) {
	root := write(t, map[string]string{".gitignore": "gen/\n", "gen/a.go": "1", "b.go": "1"})
	w := watching(t, root, quick)
	put(t, root, map[string]string{"rules": "*.log\n"})
	if err := os.Rename(filepath.Join(root, "rules"), filepath.Join(root, ".gitignore")); err != nil { // a rename is one change, not two
		t.Fatal(err)
	}
	wantRescan(t, w, "ignore")
	put(t, root, map[string]string{"gen/a.go": "2"}) // watched from now on
	until(t, w, "gen/a.go")
}

// TestWatchAttributes: changes of only permissions or times are not reported.
func TestWatchAttributes(t *testing.T) {
	root := write(t, map[string]string{"a.go": "1", "b.go": "1"})
	w := watching(t, root, quick)
	if err := errors.Join(os.Chmod(filepath.Join(root, "a.go"), 0o600), os.Chtimes(filepath.Join(root, "a.go"), time.Now(), time.Now())); err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"b.go": "2"})
	if b := <-w.Batches(); !slices.Equal(b.Paths, []string{"b.go"}) {
		t.Errorf("%+v", b)
	}
}

func TestWatchRootRemoved(t *testing.T) {
	root := write(t, map[string]string{"a.go": "1"})
	w := watching(t, root, quick)
	remove(t, root, "")
	wantRescan(t, w, "removed")
}

func TestWatchLimit(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d%02d/sub/f.go", i)] = "1"
	}
	w := watching(t, write(t, files), WatchOptions{MaxWatches: 20})
	if !strings.Contains(w.Limit(), "only 20 directories") {
		t.Errorf("limit: %q", w.Limit())
	}
}

func TestWatchOverflow(t *testing.T) {
	l, err := newWatchLoop(t.TempDir(), quick)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go l.run(ctx)
	l.fsw.Errors <- fsnotify.ErrEventOverflow
	wantRescan(t, l.Watcher, "more changes")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	tier.NoLeaks(t)
}

// TestWatchNobodyReads checks that a watcher whose batches are not received still ends, and that no
// changes are lost.
func TestWatchNobodyReads(t *testing.T) {
	root := t.TempDir()
	w := watching(t, root, quick)
	for i := range 300 {
		put(t, root, map[string]string{fmt.Sprintf("f%03d", i): "1"})
		time.Sleep(time.Millisecond)
	}
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("f%03d", i))
	}
	until(t, w, want...)
}
