package codestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestTwoProcesses runs two processes that sync and update one index of one tree, while this
// process reads and updates it too.
func TestTwoProcesses(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	children := []interface{ Kill() error }{}
	for range 2 {
		cmd := startChild(t, "loop", root, dir, 0)
		children = append(children, cmd.Process)
		defer cmd.Wait()
	}
	var readers sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), tier.Pick(20*time.Second, 20*time.Second, 3*time.Second))
	defer stop()
	generations := map[uint64]bool{}
	for n := range 3 {
		readers.Go(func() {
			mine := s
			if n > 0 {
				mine = open(t, dir, smallSegments())
			}
			for ctx.Err() == nil {
				got, err := contents(mine) // checks each document against its hash
				if err != nil || len(got) != 40 {
					t.Errorf("a view has %d documents: %v", len(got), err)
					return
				}
				if n == 1 { // this process writes nothing itself
					v, _ := mine.View()
					generations[v.Generation()] = true
					v.Close()
					if !tier.Long() && len(generations) >= tier.Pick(10, 40, 0) { // enough; only the long tier goes on
						stop()
					}
				}
			}
		})
	}
	for ctx.Err() == nil {
		if err := disturb(s, root); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
	readers.Wait()
	for _, c := range children {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	}
	syncTree(t, s, root)
	wantIndex(t, s, root)
	wantClean(t, dir)
	t.Logf("%d generations were seen", len(generations))
	if len(generations) < 5 {
		t.Errorf("only %d generations were seen", len(generations))
	}
}

func TestLockWaitsAndEnds(t *testing.T) {
	root, dir := indexed(t)
	s := open(t, dir, smallSegments())
	unlock, err := s.disk.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, dir, smallSegments())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := other.Sync(ctx, scan(t, root), nil, nil); err == nil {
		t.Error("two writers at a time")
	}
	if got, err := contents(other); err != nil || len(got) != 40 {
		t.Errorf("a reader waited, or saw nothing: %d, %v", len(got), err)
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	syncTree(t, other, root)
}

// TestManifestTimeGrows checks that readers notice a new manifest even if the clock was set back.
func TestManifestTimeGrows(t *testing.T) {
	root, dir := indexed(t)
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, manifestName), future, future); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, smallSegments())
	before := s.stamp
	put(t, root, map[string]string{"new": "x"})
	syncTree(t, s, root)
	if s.stamp.modified <= before.modified {
		t.Errorf("%+v after %+v", s.stamp, before)
	}
}

func TestViewIsConsistent(t *testing.T) {
	root, dir := indexed(t)
	s := open(t, dir, smallSegments())
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, someFiles("new"))
	syncTree(t, s, root)
	old := map[string]string{}
	for _, seg := range v.Segments() { // their files have been removed by now
		if err := segmentContents(seg, old); err != nil {
			t.Fatal(err)
		}
	}
	for p, text := range someFiles("x") {
		if old[p] != text {
			t.Fatalf("%s: %q", p, old[p])
		}
	}
	files := v.Segments()
	v.Close()
	for _, seg := range files {
		if seg.file.refs != 0 {
			t.Errorf("%s is held %d times after Close", seg.Name(), seg.file.refs)
		}
	}
	v.Close() // a second Close does nothing
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.View(); err != ErrClosed {
		t.Errorf("err = %v", err)
	}
	tier.NoLeaks(t)
}

func TestValueIsKept(t *testing.T) {
	root, dir := indexed(t)
	s := open(t, dir, smallSegments())
	opened := 0
	for range 3 {
		v, err := s.View()
		if err != nil {
			t.Fatal(err)
		}
		for _, seg := range v.Segments() {
			got, err := seg.Value("n", func() (any, error) { opened++; return seg.Docs(), nil })
			if err != nil || got != seg.Docs() {
				t.Errorf("%v, %v", got, err)
			}
		}
		v.Close()
		put(t, root, map[string]string{"d0/f0": fmt.Sprint(opened)}) // the other segments stay
		syncTree(t, s, root)
	}
	v, _ := s.View()
	defer v.Close()
	if opened < 5 || opened > len(v.Segments())+3 {
		t.Errorf("opened %d times, %d segments", opened, len(v.Segments()))
	}
}
