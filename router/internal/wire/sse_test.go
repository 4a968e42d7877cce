package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type event struct {
	Name, Data string
	Partial    bool
}

func readAll(r io.Reader, max int) ([]event, error) {
	var out []event
	sr := NewEventReader(r, max)
	for {
		ev, err := sr.Next()
		if err != nil {
			return out, err
		}
		out = append(out, event{ev.Name, string(ev.Data), ev.Partial})
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		name, in string
		want     []event
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []event{{Data: "a"}}},
		{"named", "event: ping\ndata: {}\n\ndata: b\n\n", []event{{Name: "ping", Data: "{}"}, {Data: "b"}}},
		{"name without data is dropped", "event: ping\n\ndata: b\n\n", []event{{Data: "b"}}},
		{"lines joined", "data: a\ndata: b\ndata\n\n", []event{{Data: "a\nb\n"}}},
		{"no space", "data:a\n\ndata:  b\n\n", []event{{Data: "a"}, {Data: " b"}}},
		{"comments and unknown fields", ": hello\n:\nid: 7\nretry: 9\nfoo\ndata: a\n: x\n\n", []event{{Data: "a"}}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{Data: "a"}, {Data: "b"}}},
		{"cr", "data: a\r\rdata: b\r\r", []event{{Data: "a"}, {Data: "b"}}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\n", []event{{Data: "a"}, {Data: "b"}}},
		{"bom", "\xef\xbb\xbfdata: a\n\n", []event{{Data: "a"}}},
		{"colons in data", "data: a:b: c\n\n", []event{{Data: "a:b: c"}}},
		{"not ended", "data: a\n\ndata: b\n", []event{{Data: "a"}, {Data: "b", Partial: true}}},
		{"cut in line", "data: a\n\ndata: b", []event{{Data: "a"}, {Data: "b", Partial: true}}},
		{"cut in name", "data: a\n\neve", []event{{Data: "a"}}},
		{"long", "data: " + long + "\n\n", []event{{Data: long}}},
		{"empty data", "data:\n\ndata: a\n\n", []event{{}, {Data: "a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
				"halves": iotest.HalfReader(strings.NewReader(tt.in)), "data with error": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := readAll(r, 0)
				if err != io.EOF {
					t.Errorf("%s: %v", way, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%.2000s", way, diff)
				}
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	if _, err := readAll(strings.NewReader("data: "+strings.Repeat("x", 100_000)), 1000); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long line: %v", err)
	}
	if _, err := readAll(strings.NewReader(strings.Repeat("data: x\n", 100_000)), 1000); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long event: %v", err)
	}
	boom := errors.New("boom")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom)), 0)
	if err != boom || len(got) != 1 {
		t.Errorf("a broken stream gave %v and %v", got, err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: b\r\rdata:c\n", "\xef\xbb\xbf:\n\ndata\ndata\n\n", "\r\n\r\r\n", "data: \xff\x00\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err1 := readAll(bytes.NewReader(in), 1<<16)
		pieces, err2 := readAll(iotest.OneByteReader(bytes.NewReader(in)), 1<<16)
		if diff := cmp.Diff(whole, pieces); diff != "" || (err1 == io.EOF) != (err2 == io.EOF) {
			t.Errorf("how the bytes arrive changes the events: %v, %v\n%s", err1, err2, diff)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	in := []byte(strings.Repeat("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n", 1000))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewEventReader(bytes.NewReader(in), 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
