package grep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/trigram"
)

// files writes texts to a directory and reads them by their number.
func files(t testing.TB, texts []string) ([]uint32, ReadFunc) {
	t.Helper()
	dir := t.TempDir()
	var docs []uint32
	name := func(doc uint32) string { return filepath.Join(dir, fmt.Sprint(doc)) }
	for i, text := range texts {
		if err := os.WriteFile(name(uint32(i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, uint32(i))
	}
	return docs, func(doc uint32, buf []byte) ([]byte, error) { return ReadFile(name(doc), buf) }
}

// collect returns the results of a search, each line as doc:number:text and each error as the
// number of its document.
func collect(ctx context.Context, docs []uint32, read ReadFunc, p *Pattern, o SearchOptions) (out []string) {
	for m, err := range Search(ctx, docs, read, p, o) {
		if err != nil {
			out = append(out, fmt.Sprintf("%d: error", m.Doc))
			continue
		}
		out = append(out, fmt.Sprintf("%d:%d:%s", m.Doc, m.Number, m.Text))
	}
	return out
}

func TestSearch(t *testing.T) {
	defer tier.NoLeaks(t)
	rnd := rand.New(rand.NewPCG(9, 10))
	var texts, want []string
	for i := range tier.Pick(150, 500, 500) {
		var b strings.Builder
		for n := range rnd.IntN(50) {
			line := fmt.Sprintf("%d %d", i, rnd.IntN(5))
			if strings.HasSuffix(line, "3") {
				want = append(want, fmt.Sprintf("%d:%d:%s", i, n+1, line))
			}
			b.WriteString(line + "\r\n")
		}
		if i == 77 { // larger than a worker's initial buffer
			b.WriteString(strings.Repeat("-", 2*firstRoom) + "\n")
		}
		texts = append(texts, b.String())
	}
	docs, read := files(t, texts)
	p, err := Compile(` 3$`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 1, 2, 7} {
		o := SearchOptions{Workers: workers}
		if diff := cmp.Diff(want, collect(t.Context(), docs, read, p, o)); diff != "" {
			t.Errorf("%d workers (-want +got):\n%s", workers, diff)
		}
		for _, o.Limit = range []int{1, 2, 30, len(want), len(want) + 1} {
			if diff := cmp.Diff(want[:min(o.Limit, len(want))], collect(t.Context(), docs, read, p, o)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", o, diff)
			}
		}
	}
	if got := collect(t.Context(), nil, read, p, SearchOptions{}); got != nil {
		t.Errorf("found %v in no documents", got)
	}
}

func TestSearchUnreadable(t *testing.T) {
	defer tier.NoLeaks(t)
	docs, read := files(t, []string{"a", "b", "a"})
	p, err := Compile("a", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t.Context(), append(docs, 99, 2), read, p, SearchOptions{})
	if diff := cmp.Diff([]string{"0:1:a", "2:1:a", "99: error", "2:1:a"}, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range Search(t.Context(), []uint32{99}, read, p, SearchOptions{}) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// TestSearchEnds checks that a search whose context ends reports that and stops reading, and that a
// loop that is left early leaves no goroutine behind.
func TestSearchEnds(t *testing.T) {
	defer tier.NoLeaks(t)
	docs, readFirst := files(t, []string{"a\n"})
	docs = slices.Repeat(docs, 2000)
	for i := range docs {
		docs[i] = uint32(i)
	}
	read := func(_ uint32, buf []byte) ([]byte, error) { return readFirst(0, buf) } // all documents are the same
	p, err := Compile("a", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var reads, running atomic.Int64
	counted := func(doc uint32, buf []byte) ([]byte, error) {
		reads.Add(1)
		running.Add(1)
		defer running.Add(-1)
		time.Sleep(100 * time.Microsecond)
		return read(doc, buf)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var last error
	n := 0
	for _, err := range Search(ctx, docs, counted, p, SearchOptions{Workers: 2}) {
		if n++; n == 3 {
			cancel(cause)
		}
		last = err
	}
	if !errors.Is(last, cause) || n > 20 {
		t.Errorf("after %d lines: %v", n, last)
	}
	if got := reads.Load(); got > 500 {
		t.Errorf("%d of 2000 documents were read", got)
	}

	reads.Store(0)
	for range Search(t.Context(), docs, counted, p, SearchOptions{Workers: 2}) {
		break
	}
	if got := reads.Load(); got > 500 {
		t.Errorf("%d of 2000 documents were read for one line", got)
	}
	if got := running.Load(); got > 0 {
		t.Errorf("%d documents are still being read", got)
	}

	// A context that ends while a document is being read.
	ctx, cancel = context.WithCancelCause(t.Context())
	blocked := func(doc uint32, buf []byte) ([]byte, error) {
		cancel(cause)
		time.Sleep(10 * time.Millisecond)
		return buf, nil
	}
	got := 0
	for _, err := range Search(ctx, docs, blocked, p, SearchOptions{}) {
		if got++; !errors.Is(err, cause) {
			t.Error(err)
		}
	}
	if got != 1 {
		t.Errorf("%d results", got)
	}
}

// TestCandidatesSuffice checks that the documents that the index selects contain every matching
// line.
func TestCandidatesSuffice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	b := trigram.NewBuilder()
	var texts [][]byte
	for i := range 300 {
		var s strings.Builder
		for range rnd.IntN(12) {
			s.WriteString(words[rnd.IntN(len(words))])
		}
		texts = append(texts, []byte(s.String()))
		b.Add(uint32(i), texts[i])
	}
	index, err := trigram.Open(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	helped := 0
	for _, pattern := range patterns {
		p, err := Compile(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		q := trigram.CompileTree(p.Tree())
		docs := index.Candidates(q)
		if len(docs) < len(texts) {
			helped++
		}
		s := p.Scanner()
		for i, text := range texts {
			if _, ok := slices.BinarySearch(docs, uint32(i)); !ok && len(s.Append(nil, text, 1)) > 0 {
				t.Fatalf("%q: %q matches and is no candidate; asked for %s", pattern, text, q)
			}
		}
	}
	if helped < 10 {
		t.Errorf("the index helped with %d of %d patterns", helped, len(patterns))
	}
}

func TestReadFile(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	_, read := files(t, []string{text, ""})
	for _, room := range []int{0, 10, 9999, 10000, 10001, 20000} {
		got, err := read(0, make([]byte, 0, room))
		if err != nil || string(got) != text {
			t.Errorf("room %d: %d bytes, %v", room, len(got), err)
		}
		if got, err := read(1, make([]byte, 0, room)); err != nil || len(got) != 0 {
			t.Errorf("room %d: %d bytes of an empty file, %v", room, len(got), err)
		}
	}
	if _, err := ReadFile(t.TempDir(), nil); err == nil {
		t.Error("a directory was read")
	}
}
