package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type pair struct{ Type, Data string }

func readAll(r *Reader) ([]pair, error) {
	var got []pair
	for {
		ev, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, pair{ev.Type, string(ev.Data)})
	}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name, in string
		want     []pair
	}{
		{"named", "event: ping\ndata: {}\n\n", []pair{{"ping", "{}"}}},
		{"data only", "data: a\n\ndata: b\n\n", []pair{{"", "a"}, {"", "b"}}},
		{"joined lines", "data: a\ndata:\ndata:  b\n\n", []pair{{"", "a\n\n b"}}},
		{"crlf", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []pair{{"x", "a"}, {"", "b"}}},
		{"cr", "event: x\rdata: a\r\rdata: b\r\r", []pair{{"x", "a"}, {"", "b"}}},
		{"comments and unknown fields", ": hi\nid: 7\nretry: 10\ndata: a\n\n", []pair{{"", "a"}}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []pair{{"", "a"}}},
		{"event without data is dropped", "event: x\n\ndata: a\n\n", []pair{{"", "a"}}},
		{"last blank line missing", "data: a\n", []pair{{"", "a"}}},
		{"cut inside a line", "data: a\n\ndata: {\"x", []pair{{"", "a"}}},
		{"field without colon", "data\n\n", []pair{{"", ""}}},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
				got, err := readAll(NewReader(src, 1<<20))
				if err != io.EOF {
					t.Errorf("err = %v, want EOF", err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestReaderLongLine(t *testing.T) {
	long := strings.Repeat("x", 40<<20)
	got, err := readAll(NewReader(strings.NewReader("data: "+long+"\n\n"), 64<<20))
	if err != io.EOF || len(got) != 1 || got[0].Data != long {
		t.Fatalf("%d events, err %v", len(got), err)
	}
}

func TestReaderLimit(t *testing.T) {
	for name, in := range map[string]string{
		"line":    "data: " + strings.Repeat("x", 200) + "\n\n",
		"unended": strings.Repeat("x", 200),
		"event":   strings.Repeat("data: xxxxxxxxxxxxxxx\n", 20) + "\n",
	} {
		r := NewReader(strings.NewReader(in), 100)
		if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: err = %v, want ErrTooLong", name, err)
		}
		if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: second err = %v, want ErrTooLong", name, err)
		}
	}
}

func TestReaderSourceError(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(boom)), 1<<10)
	got, err := readAll(r)
	if err != boom {
		t.Fatalf("err = %v, want boom", err)
	}
	if diff := cmp.Diff([]pair{{"", "a"}}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\r\n\r\n: c\ndata: b\n\n"), 64)
	f.Add([]byte("data\rdata\r\r\n\n"), 3)
	f.Add([]byte("\xef\xbb\xbfdata: x\n\n"), 100)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + limit&0xfff
		whole, err1 := readAll(NewReader(strings.NewReader(string(in)), limit))
		bytewise, err2 := readAll(NewReader(iotest.OneByteReader(strings.NewReader(string(in))), limit))
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatalf("events depend on how the bytes arrive:\n%s", diff)
		}
		if (err1 == io.EOF) != (err2 == io.EOF) {
			t.Fatalf("errors depend on how the bytes arrive: %v, %v", err1, err2)
		}
		for _, p := range whole {
			if len(p.Data) > limit {
				t.Fatalf("event of %d bytes passes a limit of %d", len(p.Data), limit)
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	const event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
	stream := strings.Repeat(event, 1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r := NewReader(strings.NewReader(stream), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
