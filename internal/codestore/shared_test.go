package codestore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/luthier-dev/luthier/internal/source"
)

// TestTwoProcesses lets two processes sync and update one index of one tree while this one looks at it and updates too.
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
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
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
				if n == 1 { // which writes nothing itself
					v, _ := mine.View()
					generations[v.Generation()] = true
					v.Close()
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
	if _, err := other.Sync(ctx, scan(t, root), nil); err == nil {
		t.Error("two writers at a time")
	}
	if got, err := contents(other); err != nil || len(got) != 40 {
		t.Errorf("a reader waited, or saw nothing: %d, %v", len(got), err)
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	syncTree(t, other, root)
}

// TestManifestTimeGrows shows that readers see a new manifest even when the clock was set back.
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

// TestStaleTree syncs to a scan that is no longer true.
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
	r, err := s.Sync(t.Context(), tree, nil)
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

// TestFoldingEnds shows that segments which were just built or folded are not so many and small that they would be
// folded at once.
func TestFoldingEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		o := Options{Workers: 1 + r.IntN(64), SegmentBytes: 1 << (20 + r.IntN(5))}.withDefaults()
		files := make([]source.File, 1+r.IntN(200_000))
		most := 1 + r.IntN(1<<r.IntN(20))
		docs := 0
		for i := range files {
			files[i].Size = int64(r.IntN(most))
		}
		small := 0
		for _, b := range o.batches(files) {
			var bytes int64
			for i := range b {
				bytes += b[i].Size
			}
			docs += len(b)
			if isSmall(len(b), bytes, o.SegmentBytes/smallShare) {
				small++
			}
			if len(b) > maxBatchDocs || len(b) > 1 && bytes > 2*o.SegmentBytes {
				t.Fatalf("a batch of %d files, %d bytes of %d", len(b), bytes, o.SegmentBytes)
			}
		}
		if small >= manySegments || docs != len(files) {
			t.Fatalf("%d small batches; %d of %d files; %+v", small, docs, len(files), o)
		}
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
	for _, seg := range v.Segments() { // whose files are removed by now
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
	v.Close() // does nothing
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.View(); err != ErrClosed {
		t.Errorf("err = %v", err)
	}
	goleak.VerifyNone(t)
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

// TestUnchangedIsNotRead shows that a second Sync reads nothing once time stamps have aged.
func TestUnchangedIsNotRead(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	time.Sleep(100 * time.Millisecond)
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	if r := syncTree(t, s, root); r.Unchanged != 40 || r.BytesRead != 0 {
		t.Errorf("%+v", r)
	}
	// Touched: read once, and remembered.
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

// TestSameSizeAndTime changes a file within the grain of its time stamp, and sets the time back: size and time of the
// content are the same as before.
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

// TestRevertedContent shows that a file which gets an earlier content back is found in its old segment.
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

func TestManyUpdatesAreFolded(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, Options{})
	syncTree(t, s, root)
	folded, most := 0, 0
	for i := range 60 {
		path := fmt.Sprintf("new/f%d", i)
		put(t, root, map[string]string{path: path})
		files, err := source.Look(t.Context(), root, source.Options{}, path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Update(t.Context(), root, files...)
		if err != nil || r.Built != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		folded += r.Folded
		most = max(most, r.Segments)
	}
	if folded == 0 || most > manySegments+2 {
		t.Errorf("folded %d documents, up to %d segments", folded, most)
	}
	wantIndex(t, s, root)
	wantIndex(t, open(t, dir, Options{}), root)
}

func TestUpdateDirectories(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	put(t, root, map[string]string{"d0x": "not below d0", "d0-1/a": "nor this"})
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	update := func(want counts, paths ...string) {
		t.Helper()
		files, err := source.Look(t.Context(), root, source.Options{}, paths...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Update(t.Context(), root, files...)
		if err != nil {
			t.Fatal(err)
		}
		if got := countsOf(r); got != want {
			t.Errorf("%v: %+v, want %+v", paths, got, want)
		}
		wantIndex(t, s, root)
	}
	if err := os.RemoveAll(filepath.Join(root, "d1")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 10}, "d1")
	if err := os.Rename(filepath.Join(root, "d0"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 10, Built: 10}, "d0", "moved")
	put(t, root, map[string]string{"moved/f0": "changed", "moved/sub/g": "new"})
	if err := os.Remove(filepath.Join(root, "moved/f1")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 1, Built: 2, Rehashed: 8}, "moved")
	put(t, root, map[string]string{"d2/f0": "a\x00b"})
	update(counts{Removed: 1}, "d2/f0")
}

func TestMemoryOnly(t *testing.T) {
	root := t.TempDir()
	put(t, root, someFiles("x"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(file, "index"), smallSegments()) // below a file, where root cannot make it either
	if r := syncTree(t, s, root); !strings.Contains(r.Memory, "memory only") || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
	if err := disturb(s, root); err != nil {
		t.Fatal(err)
	}
	wantIndex(t, s, root)
	if r := syncTree(t, s, root); r.Built != 0 || r.Memory == "" {
		t.Errorf("%+v", r)
	}
}

// TestReadOnlyDirectory uses an index that this process may read and not change.
func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of directories mean nothing here")
	}
	root, dir := indexed(t)
	if os.Geteuid() == 0 {
		defer asNobody(t, dir, root)()
	}
	if err := os.Chmod(dir, 0o555); err != nil && os.Geteuid() != 0 {
		t.Fatal(err)
	}
	s := open(t, dir, smallSegments())
	wantIndex(t, s, root)
	r := syncTree(t, s, root)
	if r.Memory == "" || r.Built != 0 {
		t.Errorf("%+v", r)
	}
	files := []source.File{{Path: "d0", Skip: source.SkipGone}}
	if r, err := s.Update(t.Context(), root, files...); err != nil || r.Removed != 10 || r.Memory == "" {
		t.Errorf("%+v, %v", r, err)
	}
	// What another process does from now on is not ours.
	var others sync.WaitGroup
	others.Go(func() { // on another thread, with its rights
		put(t, root, map[string]string{"later": "x"})
		syncTree(t, open(t, dir, smallSegments()), root)
	})
	others.Wait()
	if got, err := contents(s); err != nil || len(got) != 30 {
		t.Errorf("%d documents, %v", len(got), err)
	}
}

// asNobody gives up root's rights to files on this thread until the result is called. Setfsuid is Linux' own; elsewhere
// such tests are run by an ordinary user.
var asNobody = func(t *testing.T, _ ...string) func() {
	t.Skip("run as an ordinary user")
	return nil
}

// TestDiskFull ends the room of the disk in the middle of a Sync.
func TestDiskFull(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	o := smallSegments()
	writes := 0
	o.Workers = 1
	o.step = func(point string) {
		if strings.HasPrefix(point, "create ") {
			if writes++; writes == 4 {
				// What the store sees is a directory in which no file can be made any more.
				_ = os.Rename(dir, dir+".away")
				_ = os.WriteFile(dir, nil, 0o644)
			}
		}
	}
	s := open(t, dir, o)
	if r := syncTree(t, s, root); r.Memory == "" || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, smallSegments())
	if r := syncTree(t, again, root); r.Adopted == 0 || r.Memory != "" {
		t.Errorf("%+v", r)
	}
	wantIndex(t, again, root)
}

func TestOpenOver(t *testing.T) {
	for name, link := range map[string]bool{"links": true, "copies": false} {
		t.Run(name, func(t *testing.T) {
			root, dir := indexed(t)
			fork := filepath.Join(t.TempDir(), "fork")
			if err := os.CopyFS(fork, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			put(t, fork, map[string]string{"d0/f0": "changed in the fork", "new": "file"})
			over := filepath.Join(t.TempDir(), "over")
			if !link {
				if over = otherFileSystem(t, dir); over == "" {
					t.Skip("there is no other file system")
				}
			}
			s, err := OpenOver(t.Context(), over, dir, testFormat(), smallSegments())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			want := counts{Built: 2, Rehashed: 39}
			if got := countsOf(syncTree(t, s, fork)); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			wantIndex(t, s, fork)
			if r := syncTree(t, s, fork); r.Built != 0 {
				t.Errorf("%+v", r)
			}
			// The base is as it was, and each goes its own way.
			base := open(t, dir, smallSegments())
			wantIndex(t, base, root)
			put(t, root, someFiles("y"))
			syncTree(t, base, root)
			wantIndex(t, base, root)
			wantIndex(t, s, fork)
			again, err := OpenOver(t.Context(), over, dir, testFormat(), smallSegments())
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			wantIndex(t, again, fork)
		})
	}
}

func otherFileSystem(t *testing.T, dir string) string {
	t.Helper()
	shm, err := os.MkdirTemp("/dev/shm", "codestore")
	if err != nil {
		return ""
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	if !otherDevice(dir, shm) {
		return ""
	}
	return filepath.Join(shm, "over")
}

func otherDevice(a, b string) bool {
	probe := filepath.Join(b, "probe")
	err := os.Link(filepath.Join(a, lockName), probe)
	_ = os.Remove(probe)
	return err != nil
}

func TestOpenOverNothing(t *testing.T) {
	root := t.TempDir()
	put(t, root, someFiles("x"))
	s, err := OpenOver(t.Context(), t.TempDir(), t.TempDir(), testFormat(), smallSegments())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := syncTree(t, s, root); !strings.Contains(r.Rebuilt, "cannot be taken over") || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
}

// TestTreeChangesDuringSync changes, removes and adds files between scan and Sync and while it reads. What is indexed
// must be some content the file had, and a Sync in quiet makes it right.
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
