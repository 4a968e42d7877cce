//go:build unix

package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestMain lets the test binary act as the process that is killed.
func TestMain(m *testing.M) {
	if work := os.Getenv("CHECKPOINT_TEST_CHILD"); work != "" {
		child(work, os.Getenv("CHECKPOINT_TEST_STORE"))
		return
	}
	os.Exit(m.Run())
}

// made is the line that the child prints after each checkpoint.
const made = "made"

// child changes files, snapshots, restores, undoes and redoes in an endless loop.
func child(work, store string) {
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	s, err := Open(work, store, Options{})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(3)
	}
	for n := 0; ; n++ {
		s.packFrom = []int{2, 1000}[r.IntN(2)]
		for range 1 + r.IntN(8) {
			p := filepath.Join(work, fmt.Sprintf("d%d/f%d", r.IntN(3), r.IntN(6)))
			os.MkdirAll(filepath.Dir(p), 0o755)
			if r.IntN(4) == 0 {
				os.Remove(p)
				continue
			}
			tmp := p + ".writing"
			os.WriteFile(tmp, bytes.Repeat([]byte(fmt.Sprintf("version %d\n", n)), r.IntN(5000)), 0o644)
			os.Rename(tmp, p)
		}
		if _, err := s.Snapshot(ctx, fmt.Sprint(n)); err != nil {
			fmt.Println("snapshot:", err)
			os.Exit(3)
		}
		fmt.Println(made)
		switch list, _ := s.List(ctx); r.IntN(4) {
		case 0:
			_, err = s.Restore(ctx, list[r.IntN(len(list))].ID)
		case 1:
			s.Undo(ctx)
		case 2:
			s.Redo(ctx)
		}
		if err != nil {
			fmt.Println("restore:", err)
			os.Exit(3)
		}
	}
}

// whole checks that every checkpoint can be read completely.
func whole(t *testing.T, s *Store) []Checkpoint {
	t.Helper()
	list, err := s.List(ctx)
	must(t, err)
	read := map[plumbing.Hash]bool{}
	for _, c := range list {
		e := must1[event](t)(s.find(c.ID))
		m, err := s.getManifest(e.tree)
		must(t, err)
		for _, f := range m.files {
			if !read[f.hash] {
				read[f.hash] = true
				must1[[]byte](t)(s.blob(f.hash))
			}
		}
	}
	return list
}

// Evidence: sessions · A checkpoint survives a kill
func TestKill(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	work, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	rounds := tier.Pick(4, 12, 25)
	r := rand.New(rand.NewPCG(1, 2))
	had := 0
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CHECKPOINT_TEST_CHILD="+work, "CHECKPOINT_TEST_STORE="+store)
		out := must1[io.ReadCloser](t)(cmd.StdoutPipe())
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		says := func() bool {
			if !lines.Scan() {
				return false
			}
			if lines.Text() != made {
				t.Errorf("round %d: the child failed: %s", round, lines.Text())
			}
			return true
		}
		if round%5 != 4 { // in every fifth round, the child is killed while it starts
			for range 1 + r.IntN(3) {
				says()
			}
		}
		time.Sleep(time.Duration(r.IntN(80)) * time.Millisecond)
		cmd.Process.Kill()
		for says() { // the lines that it printed before it was killed
		}
		cmd.Wait()
		if t.Failed() || complaint.Len() > 0 {
			t.Fatalf("round %d: the child failed: %s", round, complaint.String())
		}
		for p, text := range state(t, work) {
			if strings.Contains(p, tempPrefix) || strings.HasSuffix(p, ".writing") || !strings.Contains(text, "version") {
				continue
			}
			_, text, _ = strings.Cut(text, " ")
			line, _, _ := strings.Cut(text, "\n")
			if strings.Trim(strings.ReplaceAll(text, line+"\n", ""), "\n") != "" || !strings.HasSuffix(text, "\n") {
				t.Fatalf("round %d: %s is torn", round, p)
			}
		}
		s, err := Open(work, store, Options{})
		must(t, err)
		list := whole(t, s)
		if len(list) < had {
			t.Fatalf("round %d: %d checkpoints, there were %d", round, len(list), had)
		}
		had = len(list)
		if had > 0 {
			id := list[r.IntN(had)].ID
			must1[string](t)(s.Restore(ctx, id))
			if changed := must1[[]string](t)(s.Changes(ctx, id, Now)); len(changed) > 0 {
				t.Fatalf("round %d: %v differ after the restore", round, changed)
			}
			had += 2
		}
		must(t, s.Close())
		must(t, filepath.WalkDir(work, func(p string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
				t.Errorf("round %d: %s was left", round, p)
			}
			return err
		}))
	}
	if had < rounds {
		t.Errorf("only %d checkpoints were made", had)
	}
}

// TestCutAnywhere truncates the files that may be truncated at every byte, adds the leftovers of an
// interrupted write, and checks that the store still works.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{"a": "1", "b/c": "2"})
	s := open(t, work, Options{})
	time.Sleep(60 * time.Millisecond)
	id := must1[string](t)(s.Snapshot(ctx, ""))
	file := filepath.Join(s.dir, "stat-cache")
	whole := must1[[]byte](t)(os.ReadFile(file))
	if len(readCache(file)) != 2 {
		t.Fatalf("the cache knows %d files", len(readCache(file)))
	}
	for n := range len(whole) {
		must(t, os.WriteFile(file, whole[:n], 0o644))
		if c := readCache(file); len(c) != 0 {
			t.Fatalf("a cache cut at byte %d is believed", n)
		}
		flipped := slices.Clone(whole)
		flipped[n] ^= 0x40
		must(t, os.WriteFile(file, flipped, 0o644))
		if c := readCache(file); len(c) != 0 {
			t.Fatalf("a cache damaged at byte %d is believed", n)
		}
	}
	put(t, s.dir, map[string]string{"objects/ab/" + tempPrefix + "1": "torn", tempPrefix + "2": "torn"})
	put(t, work, map[string]string{tempPrefix + "3": "torn", "b/" + tempPrefix + "4": "torn"})
	again, err := Open(work, s.dir, Options{})
	must(t, err)
	defer again.Close()
	if changed := must1[[]string](t)(again.Changes(ctx, id, Now)); len(changed) > 0 {
		t.Errorf("changed: %v", changed)
	}
	if d := cmp.Diff(map[string]string{"a": "-rw-r--r-- 1", "b": "drwxr-xr-x", "b/c": "-rw-r--r-- 2"}, state(t, work)); d != "" {
		t.Errorf("workspace: %s", d)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "objects", "ab", tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestDamagedStore checks that damage is reported, and that the workspace is then left unchanged.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	s := open(t, work, Options{})
	put(t, work, map[string]string{"a": "precious"})
	id := must1[string](t)(s.Snapshot(ctx, ""))
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte("precious")).String()
	object := filepath.Join(s.dir, "objects", h[:2], h[2:])
	must(t, os.Chmod(object, 0o644))
	must(t, os.WriteFile(object, []byte("garbage"), 0o644))
	put(t, work, map[string]string{"a": "now"})
	if _, err := s.Restore(ctx, id); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("err = %v", err)
	}
	if got := state(t, work)["a"]; got != "-rw-r--r-- now" {
		t.Errorf("a is %q", got)
	}
}

// TestAgainstModel makes random changes, restores random checkpoints, and compares the workspace
// with copies kept separately.
func TestAgainstModel(t *testing.T) {
	tier.Normal(t)
	for seed := range tier.Pick(3, 8, 24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			testAgainstModel(t, uint64(seed))
		})
	}
}

func testAgainstModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	work := t.TempDir()
	s := open(t, work, Options{})
	kept := map[string]map[string]string{}
	for step := range 25 {
		for range r.IntN(6) {
			randomChange(t, r, work)
		}
		before := state(t, work)
		s.packFrom = []int{1, 3, 1000}[r.IntN(3)]
		if r.IntN(2) == 0 || len(kept) == 0 {
			kept[must1[string](t)(s.Snapshot(ctx, ""))] = before
			continue
		}
		ids := slices.Sorted(maps.Keys(kept))
		id := ids[r.IntN(len(ids))]
		undo, err := s.Restore(ctx, id)
		must(t, err)
		kept[undo] = before
		if d := cmp.Diff(kept[id], state(t, work)); d != "" {
			t.Fatalf("step %d: -want +got\n%s", step, d)
		}
	}
}

func randomChange(t testing.TB, r *rand.Rand, work string) {
	names := []string{"a", "b", "a/b", "a/c", "b/a", "b/a/c", "c", "c/d/e", "sp ace", "d.x"}
	p := filepath.Join(work, names[r.IntN(len(names))])
	for d := filepath.Dir(p); d != work; d = filepath.Dir(d) { // remove whatever is in the way
		if fi, err := os.Lstat(d); err == nil && !fi.IsDir() {
			must(t, os.Remove(d))
		}
	}
	switch r.IntN(6) {
	case 0:
		must(t, os.RemoveAll(p))
	case 1:
		must(t, os.RemoveAll(p))
		must(t, os.MkdirAll(p, 0o755))
	case 2:
		must(t, os.RemoveAll(p))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.Symlink([]string{"a", "..", "/etc", "nowhere"}[r.IntN(4)], p))
	case 3:
		if fi, err := os.Lstat(p); err == nil && fi.Mode().IsRegular() {
			must(t, os.Chmod(p, []fs.FileMode{0o600, 0o644, 0o755, 0o640}[r.IntN(4)]))
		}
	default:
		must(t, os.RemoveAll(p))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(fmt.Sprint(r.IntN(5))), 0o644))
	}
}

// TestWritersDuringSnapshots takes snapshots while files constantly change, appear and vanish.
func TestWritersDuringSnapshots(t *testing.T) {
	tier.Normal(t)
	work := t.TempDir()
	s := open(t, work, Options{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				p := filepath.Join(work, fmt.Sprintf("w%d", w), fmt.Sprint(r.IntN(5)))
				os.MkdirAll(filepath.Dir(p), 0o755)
				os.WriteFile(p, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(1<<16)), 0o644)
				if r.IntN(3) == 0 {
					os.RemoveAll(filepath.Dir(p))
				}
			}
		})
	}
	for range 20 {
		if _, err := s.Snapshot(ctx, ""); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	whole(t, s)
}

// TestManyUsers opens several stores on one directory, as several processes would, and uses each
// from several goroutines.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{"f": "x"})
	first := open(t, work, Options{})
	var wg sync.WaitGroup
	for range 3 {
		s, err := Open(work, first.dir, Options{})
		must(t, err)
		defer s.Close()
		s.packFrom = 1
		for range 2 {
			wg.Go(func() {
				for range 5 {
					if _, err := s.Snapshot(ctx, "x"); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	runGit(t, first.dir, "fsck", "--strict")
	if n := len(whole(t, first)); n != 30 {
		t.Errorf("%d checkpoints, want 30", n)
	}
}

func FuzzMeta(f *testing.F) {
	m := newManifest()
	m.files = []file{{path: "a\nb", mode: 0o600}, {path: "x", mode: 0o644}}
	m.dirs["d\xff"], m.empty["d\xff"], m.skipped["s"], m.absent["n"] = 0o700, true, "too \"large\"", true
	f.Add(m.encode())
	f.Add([]byte("luthier-meta 1\ndefault 0644 0755 0755\nfile 9 \"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := newManifest()
		if m.decode(text) != nil {
			return
		}
		m.sort()
		again := newManifest()
		must(t, again.decode(m.encode()))
		again.sort()
		if !m.same(again) || !maps.Equal(m.skipped, again.skipped) || !maps.Equal(m.absent, again.absent) {
			t.Errorf("%q reads back as %q", m.encode(), again.encode())
		}
	})
}

func FuzzCache(f *testing.F) {
	c := statCache{"a": {stamp{1, 2, 3, 4}, plumbing.NewHash("aa")}}
	f.Add(c.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "c")
		must(t, os.WriteFile(p, data, 0o644))
		c := readCache(p)
		must(t, os.WriteFile(p, c.encode(), 0o644))
		if again := readCache(p); !maps.Equal(c, again) {
			t.Errorf("%v reads back as %v", c, again)
		}
	})
}

// manyFiles creates a workspace of dirs × 100 files of about 1.5 kB.
func manyFiles(b *testing.B, dirs int) string {
	b.Helper()
	root := b.TempDir()
	for d := range dirs {
		dir := filepath.Join(root, fmt.Sprintf("pkg%03d", d))
		must(b, os.Mkdir(dir, 0o755))
		for f := range 100 {
			text := strings.Repeat(fmt.Sprintf("line of file %d in %d\n", f, d), 60)
			must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d.go", f)), []byte(text), 0o644))
		}
	}
	time.Sleep(100 * time.Millisecond)
	return root
}

func BenchmarkSnapshot10k(b *testing.B)  { benchmarkSnapshot(b, 100) }
func BenchmarkSnapshot100k(b *testing.B) { benchmarkSnapshot(b, 1000) }

// The first checkpoint of a clone: what the first edit of a session waits for.
func BenchmarkSnapshotClone7k(b *testing.B)   { benchmarkClone(b, 70) }
func BenchmarkSnapshotClone100k(b *testing.B) { benchmarkClone(b, 1000) }

func benchmarkClone(b *testing.B, dirs int) {
	work := manyFiles(b, dirs)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "x"}, {"gc", "-q"}} {
		runGit(b, work, args...)
	}
	for b.Loop() {
		s := open(b, work, Options{})
		must1[string](b)(s.Snapshot(ctx, ""))
	}
}

func benchmarkSnapshot(b *testing.B, dirs int) {
	work := manyFiles(b, dirs)
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := open(b, work, Options{})
			must1[string](b)(s.Snapshot(ctx, ""))
		}
	})
	b.Run("again", func(b *testing.B) {
		s := open(b, work, Options{})
		must1[string](b)(s.Snapshot(ctx, ""))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			must(b, os.WriteFile(filepath.Join(work, "pkg000/f00.go"), []byte(fmt.Sprint(n)), 0o644))
			must1[string](b)(s.Snapshot(ctx, ""))
		}
	})
}

func BenchmarkRestore10k(b *testing.B) {
	work := manyFiles(b, 100)
	s := open(b, work, Options{})
	id := must1[string](b)(s.Snapshot(ctx, ""))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		for f := range 10 {
			must(b, os.WriteFile(filepath.Join(work, fmt.Sprintf("pkg%03d/f00.go", f)), []byte(fmt.Sprint(n)), 0o644))
		}
		must1[string](b)(s.Restore(ctx, id))
	}
}
