package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// reopened closes a store and opens it again.
func reopened(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, s.path)
}

// same checks that a store finds the same as an exhaustive search of the given vectors.
func same(t *testing.T, s *Store, keys []Key, vectors [][]float32) {
	t.Helper()
	if rows := s.Status().Rows; rows != len(keys) {
		t.Fatalf("%d rows, want %d: %+v", rows, len(keys), s.Status())
	}
	for i := 0; i < len(vectors); i += 1 + len(vectors)/7 {
		if d := cmp.Diff(naive(t, keys, vectors, vectors[i], 12), search(t, s, vectors[i], 12)); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
	}
}

// TestStoreLasts appends, deletes, tidies and opens again, and checks the contents of the store
// after every step.
func TestStoreLasts(t *testing.T) {
	path := file(t)
	names, all := keys(0, 9000), cloud(random(1), 9000, 48)
	s := open(t, path)
	step := tier.Pick(100, 30, 30)
	for lo := 0; lo < 3000; lo += step {
		add(t, s, names[lo:lo+step], all[lo:lo+step])
	}
	add(t, s, names[2000:], all[2000:]) // a thousand of these exist already
	same(t, s, names, all)
	s = reopened(t, s)
	same(t, s, names, all)
	if err := s.Delete(append(keys(0, 6000), keys(20_000, 20_100)...)); err != nil {
		t.Fatal(err)
	}
	same(t, s, names[6000:], all[6000:])
	s = reopened(t, s)
	same(t, s, names[6000:], all[6000:])
	before := s.Status()
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := s.Status()
	if before.Dead != 6000 || after.Dead != 0 || after.Bytes > before.Bytes/2 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	same(t, s, names[6000:], all[6000:])
	add(t, s, names[:100], all[:100])
	s = reopened(t, s)
	same(t, s, append(names[6000:], names[:100]...), append(all[6000:], all[:100]...))
}

// TestAppendRefuses: if one vector cannot be stored, none is.
func TestAppendRefuses(t *testing.T) {
	s := open(t, file(t))
	add(t, s, keys(0, 1), [][]float32{{1, 2, 3}})
	inf := float32(math.Inf(1))
	for name, v := range map[string][]float32{"short": {1, 2}, "long": {1, 2, 3, 4}, "zero": {0, 0, 0}, "infinite": {1, inf, 0}, "none": {inf - inf, 0, 1}, "nil": nil} {
		if err := s.Append(keys(1, 3), [][]float32{{3, 2, 1}, v}); err == nil {
			t.Errorf("%s: it was stored", name)
		}
	}
	if err := s.Append(keys(1, 3), [][]float32{{3, 2, 1}}); err == nil {
		t.Error("two keys with one vector were stored")
	}
	if st := s.Status(); st.Rows != 1 {
		t.Errorf("%+v", st)
	}
}

// TestOtherFiles checks that files that cannot be used are replaced, and that the reason is
// reported.
func TestOtherFiles(t *testing.T) {
	good := func(model string, dim int) []byte {
		path := file(t)
		s, err := Open(path, Config{Model: model})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, keys(0, 3), cloud(random(1), 3, dim))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	newer := good("test 1", 8)
	binary.LittleEndian.PutUint32(newer[8:], 2)
	flipped := good("test 1", 8)
	flipped[12] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		note string
	}{
		{"foreign", []byte("#!/bin/sh\necho this is something else, and it is long enough to have a header of 64 bytes\n"), "no file of vectors"},
		{"empty", nil, "no file of vectors"},
		{"newer", newer, "version 2"},
		{"flipped", flipped, "damaged"},
		{"other model", good("test 2", 8), `of "test 2"`},
		{"other width", good("test 1", 16), "16 components"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, Config{Model: "test 1", Dim: 8})
			if err != nil {
				t.Fatal(err)
			}
			if st := s.Status(); !strings.Contains(st.Note, c.note) || st.Rows != 0 || !st.Writable {
				t.Errorf("%+v", st)
			}
			all := cloud(random(2), 5, 8)
			add(t, s, keys(0, 5), all)
			same(t, reopened(t, s), keys(0, 5), all)
		})
	}
	if _, err := Open(t.TempDir(), Config{Model: "x"}); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := Open("", Config{}); err == nil {
		t.Error("a store without a model was opened")
	}
}

// TestCutOff truncates the file at many lengths. The vectors in complete blocks must remain, and
// appending must still work.
func TestCutOff(t *testing.T) {
	path := file(t)
	s := open(t, path)
	names, all := keys(0, 40), cloud(random(1), 40, 8)
	var ends []int64
	for i := range 10 {
		add(t, s, names[4*i:4*i+4], all[4*i:4*i+4])
		ends = append(ends, s.Status().Bytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for n := 0; n < len(data); n += tier.Pick(83, 29, 29) {
		rows := 0
		for i, end := range ends {
			if end <= int64(n) {
				rows = 4 * (i + 1)
			}
		}
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, data[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(cut, Config{Model: "test 1"})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		same(t, s, names[:rows], all[:rows])
		add(t, s, names[36:], all[36:])
		s = reopened(t, s)
		same(t, s, append(names[:rows:rows], names[36:]...), append(all[:rows:rows], all[36:]...))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNeverWritten opens a file whose last block is as a crash of the system can leave it: it has
// the right length, but zeros at its end.
func TestNeverWritten(t *testing.T) {
	path := file(t)
	s := open(t, path)
	names, all := keys(0, 8), cloud(random(1), 8, 64)
	add(t, s, names[:4], all[:4])
	end := s.Status().Bytes
	add(t, s, names[4:], all[4:])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for from := len(data) - 1; from > int(end); from -= 101 {
		torn := bytes.Clone(data)
		clear(torn[from:])
		if bytes.Equal(torn, data) {
			continue // only padding was lost
		}
		if err := os.WriteFile(path, torn, 0o666); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		same(t, s, names[:4], all[:4])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamage flips bytes anywhere in a file. No search returns a wrong vector. Damaged vectors are
// missing and can be appended again, after which the store is complete.
func TestDamage(t *testing.T) {
	path := file(t)
	s := open(t, path)
	names, all := keys(0, 300), cloud(random(1), 300, 64)
	for lo := 0; lo < 300; lo += 50 {
		add(t, s, names[lo:lo+50], all[lo:lo+50])
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	score := map[Key]float32{}
	for _, hit := range naive(t, names, all, all[5], 300) {
		score[hit.Key] = hit.Score
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range tier.Pick(40, 150, 150) {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		}
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Config{Model: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range search(t, s, all[5], 300) {
			if hit.Score != score[hit.Key] {
				t.Fatalf("score %v of %v, want %v", hit.Score, hit.Key, score[hit.Key])
			}
		}
		add(t, s, names, all)
		same(t, s, names, all)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCutUnderMapping: if another program empties the file while it is open, searches fail but the
// process survives.
func TestCutUnderMapping(t *testing.T) {
	if !mapped {
		t.Skip("the file is not mapped here")
	}
	path := file(t)
	s := open(t, path)
	add(t, s, keys(0, 2000), cloud(random(1), 2000, 384))
	s = reopened(t, s)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Search(t.Context(), gauss(random(2), 384, 1), 5); !errors.Is(err, errCut) {
		t.Errorf("found %v, %v", found, err)
	}
	if missing, err := s.Select(keys(0, 2000)).Missing(); !errors.Is(err, errCut) {
		t.Errorf("missing %d, %v", len(missing), err)
	}
	if err := s.Append(keys(5, 6), [][]float32{gauss(random(2), 384, 1)}); !errors.Is(err, errCut) {
		t.Errorf("appended: %v", err)
	}
}

// TestNoDirectory: if the file cannot be written, vectors are kept in memory.
func TestNoDirectory(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(parent, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(parent, "x", "y"))
	all := cloud(random(1), 50, 16)
	add(t, s, keys(0, 50), all)
	same(t, s, keys(0, 50), all)
	if st := s.Status(); st.Note == "" || !st.Writable || st.Bytes != 0 {
		t.Errorf("%+v", st)
	}
}

// TestTwoStores opens two stores on one file, of which one writes and the other reads. It checks
// that the reader sees new vectors after Refresh, and that it can write once the writer is closed.
func TestTwoStores(t *testing.T) {
	path := file(t)
	names, all := keys(0, 3000), cloud(random(1), 3000, 32)
	w, r := open(t, path), open(t, path)
	refresh := func(n int) {
		t.Helper()
		if err := r.Refresh(); err != nil {
			t.Fatal(err)
		}
		same(t, r, names[:n], all[:n])
	}
	if r.Status().Writable || !w.Status().Writable {
		t.Fatal("both may write, or none")
	}
	if err := r.Append(names[:1], all[:1]); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	if _, err := r.Select(names).Fill(t.Context(), nil, FillConfig{}); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	refresh(0)
	for lo := 0; lo < 1000; lo += 10 {
		add(t, w, names[lo:lo+10], all[lo:lo+10])
	}
	refresh(1000)
	if err := w.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, r, names[:1000], all[:1000]) // still those of the old file
	refresh(1000)
	add(t, w, names[1000:2000], all[1000:2000])
	refresh(2000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	add(t, r, names[2000:], all[2000:])
	same(t, r, names, all)
	same(t, reopened(t, r), names, all)
}

// TestTogether searches, appends, deletes and tidies concurrently.
func TestTogether(t *testing.T) {
	s := open(t, file(t))
	names, all := keys(0, 1600), cloud(random(1), 1600, 32)
	set := s.Select(names)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := set.Search(t.Context(), all[3], 5); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for lo := 800 * w; lo < 800*(w+1); lo += 20 {
				if err := s.Append(names[lo:lo+20], all[lo:lo+20]); err != nil {
					t.Error(err)
				}
			}
			if err := s.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	same(t, s, names, all)
}
