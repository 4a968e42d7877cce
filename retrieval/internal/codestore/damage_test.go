package codestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// indexed builds an index of someFiles in several segments and returns it closed.
func indexed(t testing.TB) (root, dir string) {
	t.Helper()
	root, dir = t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	s.Close()
	return root, dir
}

func segmentNames(t testing.TB, dir string) []string {
	t.Helper()
	names := (&disk{dir: dir}).files(segmentSuffix)
	if len(names) == 0 {
		t.Fatal("no segments")
	}
	return names
}

// overwrite replaces a file's content even if it is read-only.
func overwrite(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedBytes changes every byte of a small segment and of the manifest, one at a time.
// Everything that is still readable must be correct, and the next Sync repairs the index.
func TestFlippedBytes(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"a": "some text\n", "b/c": "other text\n"})
	first := open(t, dir, Options{})
	syncTree(t, first, root)
	first.Close()
	want := onDisk(t, root)
	for _, name := range []string{segmentNames(t, dir)[0], manifestName} {
		good, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		noticed, tried := 0, 0
		for i := tier.Pick(4, 1, 0); i < len(good); i += tier.Pick(23, 3, 1) {
			tried++
			damagedDir := filepath.Join(t.TempDir(), fmt.Sprint(i))
			if err := os.CopyFS(damagedDir, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			bad := append([]byte{}, good...)
			bad[i] ^= byte(1 + i%255)
			overwrite(t, filepath.Join(damagedDir, name), bad)
			if flipped(t, damagedDir, root, want) != "" {
				noticed++
			}
		}
		t.Logf("%s: %d of %d changes were noticed", name, noticed, tried)
		if noticed < tried*9/10 { // changes of padding are not noticed
			t.Errorf("%s: %d of %d changes were noticed", name, noticed, tried)
		}
	}
}

// flipped checks a damaged index and returns the reason for a rebuild that the next Sync reports.
func flipped(t *testing.T, dir, root string, want map[string]string) string {
	t.Helper()
	s := open(t, dir, Options{NoFsync: true})
	defer s.Close()
	if got, err := contents(s); err == nil {
		for p, text := range got {
			if want[p] != text {
				t.Fatalf("%s: %s holds %q", dir, p, text)
			}
		}
	}
	r := syncTree(t, s, root)
	wantIndex(t, s, root)
	return r.Rebuilt
}

func TestUnusableManifest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"newer":   {func(s string) string { return strings.Replace(s, "codestore 1 ", "codestore 2 ", 1) }, "newer version"},
		"torn":    {func(s string) string { return s[:len(s)/2] }, "torn"},
		"empty":   {func(string) string { return "" }, "not one of this store"},
		"foreign": {func(string) string { return "#!/bin/sh\nexit\n" }, "not one of this store"},
		"zeros":   {func(s string) string { return string(make([]byte, len(s))) }, "not one of this store"},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := indexed(t)
			path := filepath.Join(dir, manifestName)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, []byte(c.change(string(raw))))
			s := open(t, dir, smallSegments())
			r := syncTree(t, s, root)
			if !strings.Contains(r.Rebuilt, c.want) {
				t.Errorf("reason %q, want %q", r.Rebuilt, c.want)
			}
			if r.Built != 0 || r.Adopted != 40 { // the segments are still good
				t.Errorf("%+v", r)
			}
			wantIndex(t, s, root)
			if r := syncTree(t, s, root); r.Rebuilt != "" {
				t.Errorf("said twice: %q", r.Rebuilt)
			}
		})
	}
}

func TestOtherFormat(t *testing.T) {
	root, dir := indexed(t)
	for want, f := range map[string]Format{
		`version 1 of its format, this is 2`: {Name: "test", Version: 2, Build: testFormat().Build},
		`format "test", this is "other"`:     {Name: "other", Version: 1, Build: testFormat().Build},
	} {
		from, err := Open(dir, f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := syncTree(t, from, root)
		if !strings.Contains(r.Rebuilt, want) || r.Built != 40 {
			t.Errorf("want %q: %+v", want, r)
		}
		wantIndex(t, from, root)
		from.Close()
		syncTree(t, open(t, dir, Options{}), root) // and back again
	}
}

func TestSegmentRemoved(t *testing.T) {
	root, dir := indexed(t)
	s := open(t, dir, smallSegments())
	if err := os.Remove(filepath.Join(dir, segmentNames(t, dir)[0])); err != nil {
		t.Fatal(err)
	}
	wantIndex(t, s, root) // its files are still open
	if r := syncTree(t, s, root); r.Rebuilt == "" || r.Built == 0 || r.Built == 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, open(t, dir, smallSegments()), root)
}

func TestDirectoryRemoved(t *testing.T) {
	root, dir := indexed(t)
	s := open(t, dir, smallSegments())
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantIndex(t, s, root)
	if r := syncTree(t, s, root); r.Memory != "" || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, open(t, dir, smallSegments()), root)
}

// TestShortenedUnderMapping: if another program truncates a mapped segment, the reader gets an
// error and the process survives.
func TestShortenedUnderMapping(t *testing.T) {
	if !canMap {
		t.Skip("segments are not mapped here")
	}
	root, dir := t.TempDir(), t.TempDir()
	for i := range 4 {
		put(t, root, map[string]string{fmt.Sprint("big", i): strings.Repeat("0123456789abcde\n", 60_000)})
	}
	s := open(t, dir, Options{})
	syncTree(t, s, root)
	name := segmentNames(t, dir)[0]
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var text []byte
	for _, seg := range v.Segments() {
		if seg.Name() == name {
			if text, err = seg.Section("text"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, name), 5000); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = Guard(func() error {
		for _, b := range text {
			sum += int(b)
		}
		return nil
	})
	if !errors.Is(err, ErrFault) {
		t.Fatalf("err = %v, sum %d", err, sum)
	}
	if r := syncTree(t, s, root); !strings.Contains(r.Rebuilt, "changed by another program") {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
	wantIndex(t, open(t, dir, Options{}), root)
}

func TestGuard(t *testing.T) {
	want := errors.New("mine")
	if err := Guard(func() error { return want }); err != want {
		t.Errorf("err = %v", err)
	}
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("a panic of fn became %v", p)
		}
	}()
	_ = Guard(func() error { panic("other") })
}

func FuzzSegment(f *testing.F) {
	docs := []Doc{{File: worktree.File{Path: "a", Size: 3}}, {File: worktree.File{Path: "b/c"}, Hash: worktree.HashOf(nil)}}
	for n := range 3 {
		pieces, _, err := encodeSegment(testFormat(), docs[:n], []Section{{"s", []byte("text")}, {"empty", nil}}[:n])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Join(pieces, nil))
	}
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parseSealed(raw, func(file *segmentFile) {
			seg := &Segment{file: file, dead: newBitmap(file.docs), live: file.docs}
			for i := range seg.Docs() {
				d := seg.Doc(i)
				if n, ok := seg.Find(d.Path); !ok || n != i {
					t.Errorf("document %d is found as %d", i, n)
				}
			}
			for name := range file.sections {
				_, _ = seg.Section(name)
			}
		})
	})
}

// parseSealed parses raw unchanged, and again with correct checksums, so that a fuzzer gets past
// the checksum checks.
func parseSealed(raw []byte, use func(*segmentFile)) {
	for range 2 {
		if file, err := parseSegment("fuzz", testFormat(), raw, raw); err == nil {
			use(file)
		}
		raw = append([]byte{}, raw...)
		if !seal(raw) {
			return
		}
	}
}

func FuzzManifest(f *testing.F) {
	m := &manifest{Format: "test", Version: 1, Generation: 3, Segments: []manifestSegment{{Name: "a.seg", Docs: 70, Dead: newBitmap(70).bytes(), Stat: "b.stat"}}}
	raw, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("luthier codestore 1 00000000 0\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeManifest(raw, testFormat())
		if err != nil {
			return
		}
		for _, s := range m.Segments {
			if filepath.Base(s.Name) != s.Name {
				t.Errorf("name %q", s.Name)
			}
			_, _ = bitmapOf(s.Dead, min(max(s.Docs, 0), 1<<16))
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if same, err := decodeManifest(again, testFormat()); err != nil || !cmp.Equal(m, same) {
			t.Errorf("%v, %s", err, cmp.Diff(m, same))
		}
	})
}

func TestCancel(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	ctx, cancel := context.WithCancel(context.Background())
	f := testFormat()
	build := f.Build
	builds := make(chan int, 1)
	builds <- 0
	f.Build = func(c context.Context, docs []Doc, read func(int) ([]byte, error)) ([]Section, error) {
		n := <-builds + 1
		builds <- n
		if n == 4 {
			cancel()
			return nil, c.Err()
		}
		return build(c, docs, read)
	}
	s, err := Open(dir, f, smallSegments())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Sync(ctx, scan(t, root), nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	if got, err := contents(s); err != nil || len(got) != 0 {
		t.Errorf("%d documents, %v", len(got), err)
	}
	if r := syncTree(t, s, root); r.Adopted == 0 || r.Adopted+r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
}

func FuzzStates(f *testing.F) {
	raw, _ := encodeStates(make([]byte, 2*stateSize))
	f.Add(raw, 2)
	f.Add([]byte(statesMagic), 0)
	f.Fuzz(func(t *testing.T, raw []byte, docs int) {
		if states, ok := decodeStates(raw, docs); ok && len(states) != stateSize*docs {
			t.Errorf("%d bytes for %d documents", len(states), docs)
		}
	})
}
