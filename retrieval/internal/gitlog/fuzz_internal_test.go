package gitlog

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	idA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	idB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	idC = "cccccccccccccccccccccccccccccccccccccccc"
)

// someLog is a log as git prints it, with the separators of several versions.
const someLog = idA + "\x00" + idB + " " + idC + "\x00" + "1600000000\x00alpha beta\n\nbody\n\x00\n" +
	":100644 100644 " + idB + " " + idC + " M\x00dir/a.go\x00" +
	":000000 100644 " + idC + " " + idA + " A\x00b.go\x00\x00" +
	idB + "\x00\x00-5\x00empty\n\x00" +
	idC + "\x00\x001\x00submodule\n\x00\x00:160000 160000 " + idA + " " + idB + " M\x00sub\x00"

func TestParseLog(t *testing.T) {
	p := newLogParser(strings.NewReader(someLog), 20)
	var got []rawCommit
	for {
		c, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *c)
	}
	raw := func(b byte) string { return string(bytes.Repeat([]byte{b}, 20)) }
	want := []rawCommit{
		{id: raw(0xaa), parents: []string{raw(0xbb), raw(0xcc)}, time: 1600000000, message: "alpha beta\n\nbody\n",
			changes: []rawChange{{"dir/a.go", 'M', idB, idC}, {"b.go", 'A', idC, idA}}},
		{id: raw(0xbb), time: -5, message: "empty\n"},
		{id: raw(0xcc), time: 1, message: "submodule\n"},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(rawCommit{}, rawChange{})); d != "" {
		t.Error("(-want +got):\n" + d)
	}
	// A log cut off within a field is an error, and the commits before it are correct.
	for n := 1; n < len(someLog); n++ {
		p := newLogParser(strings.NewReader(someLog[:n]), 20)
		var err error
		for i := 0; err == nil; i++ {
			var c *rawCommit
			if c, err = p.Next(); err == nil && (c.id != want[i].id || c.message != want[i].message) {
				t.Errorf("cut off after %d bytes, the commit %d is %+v", n, i, c)
			}
		}
		if end := someLog[n-1]; end != 0 && end != '\n' && errors.Is(err, io.EOF) {
			t.Errorf("cut off after %d bytes, within a field, it is no error", n)
		}
	}
}

// TestHostileCache tries cache files that no correct program writes, with correct checksums.
func TestHostileCache(t *testing.T) {
	id := strings.Repeat("i", 20)
	meta := []byte{20, 0}
	commit := func(tail string) string { return "\x00\x01" + id + "\x02\x00" + tail } // no path, one commit
	whole := commit("\x00\x00\x00\x00")
	for _, tt := range []struct {
		name, meta, batch, words string
		ok                       bool
	}{
		{"all is well", string(meta), whole, "\x01k\x00\x00\x00", true},
		{"hashes of no length", "\x00\x00", whole, "", false},
		{"more paths than bytes", string(meta), "\xff\xff\x7f", "", false},
		{"more commits than bytes", string(meta), "\x00\xff\xff\xff\x7f", "", false},
		{"a path that begins with more than there was", string(meta), "\x01\x05\x01a\x00", "", false},
		{"a parent after the end", string(meta), commit("\x01\x09\x00\x00\x00"), "", false},
		{"more parents than bytes", string(meta), commit("\xff\x7f\x00\x00\x00"), "", false},
		{"a text longer than the rest", string(meta), commit("\x00\x7f\x00\x00\x00"), "", false},
		{"its own parent", string(meta), commit("\x01\x01\x00\x00\x00"), "", true},
		{"a change of a path that is not there", string(meta), commit("\x00\x00\x00\x02\xff\x01"), "", true},
		{"words of more commits", string(meta), whole, "\x01k\x00\x00\x02\x00\x00", false},
		{"words with a gap", string(meta), whole, "\x01k\x01\x00\x00", false},
		{"a word that is not there", string(meta), whole, "\x01k\x00\x01\x01w\x01\x02\x09\x01", true},
	} {
		b := append([]byte(nil), magic...)
		b = appendFrame(b, frameMeta, []byte(tt.meta))
		b = appendFrame(b, frameBatch, []byte(tt.batch))
		if tt.words != "" {
			b = appendFrame(b, frameWords, []byte(tt.words))
		}
		s, _, err := decodeStore(b, "k")
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want none: %v", tt.name, err, tt.ok)
		}
		if err == nil {
			useStore(s)
		}
	}
}

// FuzzParseLog parses arbitrary bytes, adds the result to a store, and encodes and decodes the
// store.
func FuzzParseLog(f *testing.F) {
	f.Add([]byte(someLog))
	f.Add([]byte(strings.ReplaceAll(someLog, "\x00\x00", "\x00\n")))
	f.Add([]byte(strings.ReplaceAll(someLog, idC, idA)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newLogParser(bytes.NewReader(b), 20)
		s := newStore(20, "shallow")
		s.words.key = "k"
		a := s.adder(Words)
		for {
			c, err := p.Next()
			if err != nil {
				break
			}
			a.Add(c)
		}
		a.Finish(len(b)%2 == 0, 7)
		back, _, err := decodeStore(encodeWhole(s), "k")
		if err != nil {
			t.Fatal(err)
		}
		opt := cmp.AllowUnexported(store{}, entry{}, missing{}, wordTable{}, termCount{})
		ignore := cmp.FilterPath(func(p cmp.Path) bool {
			switch p.Last().String() {
			case ".pathID", ".ids", ".counts", ".buf":
				return true
			}
			return false
		}, cmp.Ignore())
		if d := cmp.Diff(s, back, opt, ignore, equateEmpty); d != "" {
			t.Fatalf("through a file (-want +got):\n%s", d)
		}
		useStore(back)
	})
}

var equateEmpty = cmp.FilterValues(func(a, b any) bool { return isEmpty(a) && isEmpty(b) }, cmp.Ignore())

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []string:
		return len(v) == 0
	case []int32:
		return len(v) == 0
	case []entry:
		return len(v) == 0
	case []missing:
		return len(v) == 0
	case map[string]int32:
		return len(v) == 0
	}
	return false
}

func encodeWhole(s *store) []byte {
	b := append([]byte(nil), magic...)
	b = appendFrame(b, frameMeta, encodeMeta(s))
	b = appendFrame(b, frameBatch, encodeBatch(s, 0, 0))
	return appendFrame(b, frameWords, encodeWords(&s.words, 0, 0))
}

// useStore performs every operation on a store.
func useStore(s *store) {
	opts, _ := Options{TokenizerKey: "k", Tokenizer: Words}.withDefaults()
	if len(s.commits) == 0 {
		return
	}
	s.tips(5)
	for _, first := range []bool{false, true} {
		live, _, _ := s.walk(int32(len(s.commits)-1), 1000, first)
		l := newLog(opts)
		l.build(s, live)
		l.ScoreFiles([]string{"alpha", "beta"}, Params{})
		l.Churn()
		l.Recency(1)
		for f := range l.Files() {
			l.Together(FileID(f), 3)
		}
	}
}

// FuzzCache opens a file whose frames hold arbitrary bytes with correct checksums, as in a hostile
// file.
func FuzzCache(f *testing.F) {
	p := newLogParser(strings.NewReader(someLog), 20)
	s := newStore(20, "")
	s.words.key = "k"
	a := s.adder(Words)
	for c, err := p.Next(); err == nil; c, err = p.Next() {
		a.Add(c)
	}
	a.Finish(true, 3)
	f.Add(encodeMeta(s), encodeBatch(s, 0, 0), encodeWords(&s.words, 0, 0))
	f.Add([]byte{20, 0}, []byte{}, []byte{})
	f.Fuzz(func(_ *testing.T, meta, batch, words []byte) {
		b := append([]byte(nil), magic...)
		b = appendFrame(b, frameMeta, meta)
		b = appendFrame(b, frameBatch, batch)
		b = appendFrame(b, frameWords, words)
		if s, _, err := decodeStore(b, "k"); err == nil {
			useStore(s)
		}
		_, _, _ = decodeStore(meta, "k")
		_, _, _ = decodeStore(append([]byte(magic), batch...), "k")
	})
}
