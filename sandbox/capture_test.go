package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCapture(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limit  int
		chunks []string
		want   string
		spill  string
	}{
		{"empty", 8, nil, "", ""},
		{"fits", 8, []string{"abc", "de"}, "abcde", ""},
		{"fits exactly", 8, []string{"abcd", "efgh"}, "abcdefgh", ""},
		{"one over", 8, []string{"abcd", "efghi"}, "abcd\n[... 1 bytes omitted ...]\nfghi", "abcdefghi"},
		{"one over later", 8, []string{"abcdefgh", "i"}, "abcd\n[... 1 bytes omitted ...]\nfghi", "abcdefghi"},
		{"one big chunk", 4, []string{"0123456789"}, "01\n[... 6 bytes omitted ...]\n89", "0123456789"},
		{"many small chunks", 4, strings.Split("0123456789", ""), "01\n[... 6 bytes omitted ...]\n89", "0123456789"},
		{"odd limit", 5, []string{"0123456789"}, "012\n[... 5 bytes omitted ...]\n89", "0123456789"},
		{"limit one", 1, []string{"ab", "c"}, "a\n[... 2 bytes omitted ...]\n", "abc"},
		{"none kept", -1, []string{"ab", "c"}, "\n[... 3 bytes omitted ...]\n", "abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var spill bytes.Buffer
			c := newCapture(tt.limit, &spill)
			for _, s := range tt.chunks {
				c.write([]byte(s))
			}
			o := c.output()
			if d := cmp.Diff(tt.want, o.String()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.spill, spill.String()); d != "" {
				t.Errorf("spill: %s", d)
			}
			if o.Total != int64(len(strings.Join(tt.chunks, ""))) || o.Spilled != int64(len(tt.spill)) {
				t.Errorf("Total %d, Spilled %d", o.Total, o.Spilled)
			}
		})
	}
}

type brokenWriter struct{ room int }

var errFull = errors.New("no room")

func (w *brokenWriter) Write(b []byte) (int, error) {
	n := min(w.room, len(b))
	w.room -= n
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func TestSpillErrorStopsOnlyTheSpill(t *testing.T) {
	c := newCapture(4, &brokenWriter{room: 6})
	for range 5 {
		c.write([]byte("abcd"))
	}
	o := c.output()
	if o.Total != 20 || o.Spilled != 6 || !errors.Is(o.SpillErr, errFull) || o.String() != "ab\n[... 16 bytes omitted ...]\ncd" {
		t.Errorf("%+v", o)
	}
}

// FuzzCapture checks that for any chunks, head and tail are those of the whole stream, the spill is
// the whole stream, and memory stays below the limit.
func FuzzCapture(f *testing.F) {
	f.Add(8, []byte("abcdefghijk"), []byte{1, 3, 9})
	f.Add(0, []byte("x"), []byte{})
	f.Add(1, bytes.Repeat([]byte("0123456789"), 50), []byte{7, 255, 1})
	f.Fuzz(func(t *testing.T, limit int, data, cuts []byte) {
		if limit < 0 || limit > 4096 {
			return
		}
		var spill bytes.Buffer
		c := newCapture(limit, &spill)
		if limit == 0 {
			limit = DefaultLimit
		}
		for rest, i := data, 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, int(cuts[i%len(cuts)])+1)
			}
			c.write(rest[:n])
			rest = rest[n:]
		}
		o := c.output()
		if len(o.Head)+len(o.Tail) > limit || o.Total != int64(len(data)) {
			t.Fatalf("limit %d, kept %d + %d of %d, Total %d", limit, len(o.Head), len(o.Tail), len(data), o.Total)
		}
		if !bytes.HasPrefix(data, o.Head) || !bytes.HasSuffix(data, o.Tail) {
			t.Fatalf("head %q or tail %q is not of %q", o.Head, o.Tail, data)
		}
		if len(data) <= limit {
			if o.Omitted() != 0 || spill.Len() != 0 {
				t.Fatalf("omitted %d, spilled %d of what fits", o.Omitted(), spill.Len())
			}
		} else if !bytes.Equal(spill.Bytes(), data) || len(o.Head)+len(o.Tail) != limit {
			t.Fatalf("spilled %d of %d, kept %d of %d", spill.Len(), len(data), len(o.Head)+len(o.Tail), limit)
		}
	})
}

// TestGigabyteOfOutput checks that a gigabyte of output takes no more memory than the limit allows.
func TestGigabyteOfOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("prints 1 GB")
	}
	sb := open(t, plain())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	pieces := 0
	exit := mustExec(t, sb, Cmd{
		Args: []string{"sh", "-c", "echo first; head -c 1000000000 /dev/zero; echo last"}, Limit: 1 << 16,
		OnOutput: func(Stream, []byte) {
			if pieces++; pieces%1000 == 0 {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
		},
	})
	if exit.Stdout.Total != 1000000011 {
		t.Errorf("Total %d", exit.Stdout.Total)
	}
	if !bytes.HasPrefix(exit.Stdout.Head, []byte("first\n")) || !bytes.HasSuffix(exit.Stdout.Tail, []byte("last\n")) {
		t.Errorf("head %.10q, tail %.10q", exit.Stdout.Head, exit.Stdout.Tail)
	}
	if kept := len(exit.Stdout.Head) + len(exit.Stdout.Tail); kept > 1<<16 {
		t.Errorf("kept %d bytes", kept)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
}

func ExampleOutput() {
	c := newCapture(10, nil)
	fmt.Fprint(writerFunc(c.write), "the quick brown fox")
	fmt.Println(c.output())
	// Output:
	// the q
	// [... 9 bytes omitted ...]
	// n fox
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
