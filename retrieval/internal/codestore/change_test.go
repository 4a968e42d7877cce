package codestore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestStaleTree syncs to an outdated scan.
func TestStaleTree(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"stays": "x", "gone": "x", "large": "x", "binary": "x", "dir": "x", "changes": "x", "lines.js": "x"})
	s := open(t, dir, Options{MaxFileSize: 5000})
	tree := scan(t, root)
	put(t, root, map[string]string{"large": strings.Repeat("x\n", 4000), "binary": "a\x00", "changes": "y", "lines.js": strings.Repeat("f(),", 1000)})
	for _, p := range []string{"gone", "dir"} {
		if err := os.Remove(filepath.Join(root, p)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root, map[string]string{"dir/f": "x"})
	r, err := s.Sync(t.Context(), tree, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range r.Skipped {
		got[f.Path] = f.Skip.String()
	}
	want := map[string]string{"gone": "gone", "large": "too large", "binary": "binary", "dir": "special file", "lines.js": "minified"}
	if !maps.Equal(got, want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
	all, err := contents(s)
	if want := map[string]string{"stays": "x", "changes": "y"}; err != nil || !maps.Equal(all, want) {
		t.Errorf("%v, want %v; %v", all, want, err)
	}
}

// TestTreeChangesDuringSync changes, removes and adds files between scan and Sync and during the
// read. Every indexed content must be one that the file had, and a Sync without changes corrects
// the index.
func TestTreeChangesDuringSync(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, smallSegments())
	done := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			path := filepath.Join(root, fmt.Sprintf("d%d/f%d", rand.IntN(4), rand.IntN(10)))
			switch rand.IntN(4) {
			case 0:
				_ = os.Remove(path)
			case 1:
				_ = os.Remove(path)
				_ = os.Mkdir(path, 0o755)
			case 2:
				_ = os.Remove(path)
				_ = os.Symlink("/etc/passwd", path)
			default:
				_ = os.Remove(path)
				_ = os.WriteFile(path, []byte(fmt.Sprint(rand.Uint64())), 0o644)
			}
		}
	})
	for range 60 {
		syncTree(t, s, root)
		if got, err := contents(s); err != nil {
			t.Fatal(err)
		} else {
			for p, text := range got {
				if strings.Contains(text, "root:") {
					t.Fatalf("%s: a link was followed", p)
				}
			}
		}
	}
	close(done)
	changing.Wait()
	syncTree(t, s, root)
	wantIndex(t, s, root)
}

// TestUnchangedIsNotRead: a second Sync reads nothing once time stamps are old enough.
func TestUnchangedIsNotRead(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	time.Sleep(100 * time.Millisecond)
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	if r := syncTree(t, s, root); r.Unchanged != 40 || r.BytesRead != 0 {
		t.Errorf("%+v", r)
	}
	// Touched files are read once, and the result is remembered.
	now := time.Now()
	for p := range someFiles("x") {
		if err := os.Chtimes(filepath.Join(root, p), now, now); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	if r := syncTree(t, s, root); r.Rehashed != 40 || r.Built != 0 {
		t.Errorf("touched: %+v", r)
	}
	s.Close()
	again := open(t, dir, smallSegments())
	if r := syncTree(t, again, root); r.Unchanged != 40 {
		t.Errorf("touched before: %+v", r)
	}
	wantClean(t, dir)
}

// TestSameSizeAndTime changes a file within the resolution of its time stamp, and sets the time
// back: size and modification time are the same as before.
func TestSameSizeAndTime(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"a": "old text", "b": "other"})
	s := open(t, dir, Options{})
	for i := range 50 {
		put(t, root, map[string]string{"a": fmt.Sprintf("text %03d", i)})
		when := time.Unix(1_700_000_000, 0)
		if err := os.Chtimes(filepath.Join(root, "a"), when, when); err != nil {
			t.Fatal(err)
		}
		syncTree(t, s, root)
		wantIndex(t, s, root)
	}
}

// TestRevertedContent: a file that gets an earlier content back is found in its old segment.
func TestRevertedContent(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	put(t, root, map[string]string{"d0/f0": "branch"})
	syncTree(t, s, root)
	put(t, root, map[string]string{"d0/f0": someFiles("x")["d0/f0"]})
	if r := syncTree(t, s, root); r.Built != 0 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
}
