package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// random makes n random examples with a vocabulary of 500.
func random(n int) []Example {
	r := rand.New(rand.NewPCG(1, 2))
	var out []Example
	for range n {
		e := Example{Kind: uint8(r.IntN(5))}
		for range 1 + r.IntN(40) {
			e.Tokens = append(e.Tokens, uint16(r.IntN(500)))
			e.Weights = append(e.Weights, uint8(r.IntN(256)))
		}
		out = append(out, e)
	}
	return out
}

func write(t testing.TB, path string, examples []Example) {
	t.Helper()
	w, err := Create(path, 500)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, e := range examples {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if w.Count() != len(examples) {
		t.Errorf("the writer counts %d examples of %d", w.Count(), len(examples))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 300} {
		path := filepath.Join(t.TempDir(), "train.set")
		want := random(n)
		write(t, path, want)
		set, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Set{Vocab: 500, Examples: append([]Example{}, want...)}, set); diff != "" {
			t.Errorf("%d examples (-want +got):\n%s", n, diff)
		}
	}
}

func TestReaderStreams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.set")
	want := random(20)
	write(t, path, want)
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	got := []Example{first}
	for e, err := range r.All() { // continues after Next
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last example comes %v, want io.EOF", err)
	}
	if r.Vocab != 500 || r.Count != 20 {
		t.Errorf("the header tells of %d tokens, %d examples", r.Vocab, r.Count)
	}
}

// TestFormat compares the bytes with the format in the package comment.
func TestFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.set")
	write(t, path, []Example{{Kind: 3, Tokens: []uint16{1, 499}, Weights: []uint8{0, 100}}})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte("luthset1\xf4\x01\x00\x00CRC!\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x02\x00\x00\x00\x03\x01\x00\xf3\x01\x00\x64")
	copy(want[12:], got[12:16])
	if !bytes.Equal(got, want) {
		t.Errorf("the file is\n%q, want\n%q", got, want)
	}
	// The checksum, computed by Python's zlib.crc32.
	if sum := binary.LittleEndian.Uint32(got[12:]); sum != 0x1691b72a {
		t.Errorf("the checksum is %08x", sum)
	}
}

func TestWriteErrors(t *testing.T) {
	for _, vocab := range []int{0, -1, 65537} {
		if _, err := Create(filepath.Join(t.TempDir(), "x"), vocab); err == nil {
			t.Errorf("a vocabulary of %d is taken", vocab)
		}
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "such", "dir"), 5); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("creating a file in no directory: %v", err)
	}
	path := filepath.Join(t.TempDir(), "train.set")
	w, err := Create(path, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e    Example
		want string
	}{
		{Example{}, "0 tokens"},
		{Example{Tokens: []uint16{1}}, "0 weights for 1 tokens"},
		{Example{Tokens: []uint16{1, 500}, Weights: []uint8{1, 1}}, "token 1 is 500"},
	} {
		if err := w.Write(c.e); err == nil || !strings.HasPrefix(err.Error(), "dataset: write example 0: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want … %s …", err, c.want)
		}
	}
	good := random(1)
	if err := w.Write(good[0]); err != nil {
		t.Errorf("a mistaken example breaks the writer: %v", err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	w.Abort() // must not remove the file
	if err := w.Write(good[0]); err == nil {
		t.Error("a closed writer takes an example")
	}
	set, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(good, set.Examples); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "train.set")
	old := random(3)
	write(t, path, old)
	w, err := Create(path, 500)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(random(1)[0]); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if err := w.Close(); err == nil {
		t.Error("an aborted file is closed without an error")
	}
	set, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(old, set.Examples); diff != "" {
		t.Errorf("the old file has changed (-want +got):\n%s", diff)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("beside the file are %v", names)
	}
}

// TestReadErrors checks that reading a damaged file fails.
func TestReadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.set")
	write(t, path, random(3))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(good) {
		if _, err := Parse(good[:n]); err == nil || !strings.HasPrefix(err.Error(), "dataset: ") {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(good), err)
		}
		bad := bytes.Clone(good)
		bad[n] ^= 0x10
		if set, err := Parse(bad); err == nil && !(n >= 8 && n < 12 && set.Vocab != 500) {
			t.Fatalf("with byte %d changed: no error", n)
		}
	}
	if _, err := Parse(append(bytes.Clone(good), 0)); err == nil || !strings.Contains(err.Error(), "1 bytes behind") {
		t.Errorf("with a byte too many: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// FuzzParse checks that parsing any bytes results in an error or in a Set that can be written and
// read again.
//
// Evidence: training · A kill while a dataset is written keeps the old file
func FuzzParse(f *testing.F) {
	path := filepath.Join(f.TempDir(), "train.set")
	write(f, path, random(3))
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:30])
	f.Add([]byte(magic))
	f.Add(append(header(7, 0, 1<<60), 0xff, 0xff, 0xff, 0, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "dataset: ") {
				t.Errorf("the error %q does not say whose it is", err)
			}
			return
		}
		w, err := Create(filepath.Join(t.TempDir(), "x"), set.Vocab)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range set.Examples {
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(w.path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("written again, %q becomes %q", data, again)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "train.set")
	w, err := Create(path, 2048)
	if err != nil {
		b.Fatal(err)
	}
	e := Example{Tokens: make([]uint16, 700), Weights: make([]uint8, 700)}
	for range 5000 {
		if err := w.Write(e); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(5000 * (5 + 3*700))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(path); err != nil {
			b.Fatal(err)
		}
	}
}
