package codestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// testFormat keeps the documents' contents: section "text" holds them one after the other, and
// section "ends" the end offset of each.
func testFormat() Format {
	return Format{Name: "test", Version: 1, Build: func(_ context.Context, docs []Doc, read func(int) ([]byte, error)) ([]Section, error) {
		var text, ends []byte
		for i := range docs {
			content, err := read(i)
			if err != nil {
				return nil, err
			}
			text = append(text, content...)
			ends = binary.LittleEndian.AppendUint64(ends, uint64(len(text)))
		}
		return []Section{{"text", text}, {"ends", ends}}, nil
	}}
}

// contents returns the contents of an index of testFormat, by path.
func contents(s *Store) (map[string]string, error) {
	v, err := s.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	all := map[string]string{}
	err = Guard(func() error {
		for _, seg := range v.Segments() {
			if err := segmentContents(seg, all); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func segmentContents(seg *Segment, all map[string]string) error {
	text, err := seg.Section("text")
	if err != nil {
		return err
	}
	ends, err := seg.Section("ends")
	if err != nil {
		return err
	}
	start := uint64(0)
	for i := range seg.Docs() {
		end := binary.LittleEndian.Uint64(ends[8*i:])
		if seg.Live(i) {
			if _, twice := all[seg.Path(i)]; twice {
				return fmt.Errorf("%s is alive twice", seg.Path(i))
			}
			if d := seg.Doc(i); d.Hash != worktree.HashOf(text[start:end]) || d.Path != seg.Path(i) {
				return fmt.Errorf("%s has another content than its hash says", seg.Path(i))
			}
			all[seg.Path(i)] = string(bytes.Clone(text[start:end]))
		}
		start = end
	}
	return nil
}

// onDisk returns the contents of a correct index.
func onDisk(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range scan(t, root).Files {
		raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.Path)))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Path] = string(raw)
	}
	return all
}

func scan(t testing.TB, root string) *worktree.Tree {
	t.Helper()
	tree, err := worktree.Scan(context.Background(), root, worktree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func open(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	opts.NoFsync = opts.NoFsync || testing.Short() // syncing matters only when a machine crashes, not a process
	s, err := Open(dir, testFormat(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func syncTree(t testing.TB, s *Store, root string) Report {
	t.Helper()
	r, err := s.Sync(context.Background(), scan(t, root), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		name := filepath.Join(root, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
