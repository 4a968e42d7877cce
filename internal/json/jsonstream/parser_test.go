package jsonstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var samples = []string{
	`{}`, `[]`, `null`, `true`, `-0`, `1.5e+10`, `""`, `"\u00e9\ud83d\ude00"`, `"\ud83d x"`, `"\ud83d\ud83d\ude00"`,
	`{"path":"a.go","content":"line 1\nline \"2\"\t€😀","n":[1,2.5,{"x":null}],"ok":false}`,
	`{"a":1,"a":2}`, ` { "a" : [ ] } `, "\"\xff\xe2\x82x\"", "\"\xe2\x82\xac\"", `{"a":1,}`, `[1 2]`, `01`, `1.`, `"a`, `{"a"}`, `tru`, `nul1`, `"\x"`, "\"\n\"",
	`1 2`, `{"a":1}}`, `-`, ``, ` `, `"\ud800"`, `"\udc00\ud800"`, `[[[[]]]]`, `"\u12G4"`, `1e5`, `1E`, `"\/"`,
}

// parseChunks feeds s in pieces of n bytes, or whole when n is 0.
func parseChunks(s string, n int) (any, error) {
	var p Parser
	for len(s) > 0 {
		k := len(s)
		if n > 0 {
			k = min(n, k)
		}
		if err := p.Feed(s[:k]); err != nil {
			return nil, err
		}
		s = s[k:]
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	return p.Value(), nil
}

// parseStd decodes the whole text with encoding/json.
func parseStd(s string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more text")
	}
	return v, nil
}

func sameAsStd(t *testing.T, s string) {
	t.Helper()
	want, wantErr := parseStd(s)
	for _, n := range []int{1, 3, 0} {
		got, err := parseChunks(s, n)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q in chunks of %d: error %v, encoding/json %v", s, n, err, wantErr)
		}
		if !reflect.DeepEqual(want, got) { // go-cmp takes exponential time on deep nesting
			t.Fatalf("%q in chunks of %d: got %v, encoding/json %v", s, n, got, want)
		}
	}
}

func TestParserIsEncodingJSON(t *testing.T) {
	for _, s := range samples {
		sameAsStd(t, s)
	}
	for _, n := range []int{9999, 10000, 10001} {
		sameAsStd(t, strings.Repeat("[", n)+strings.Repeat("]", n))
	}
}

func FuzzJSONStream(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { sameAsStd(t, s) })
}

func TestParserShowsWhatIsKnown(t *testing.T) {
	var p Parser
	type seen struct {
		Path, Content string
		Done          bool
	}
	var got []seen
	for _, piece := range []string{`{"pa`, `th":"a.`, `go","con`, `tent":"li\`, `n\u20`, `ac`, "\xe2\x82", "\xac x", `"}`} {
		if err := p.Feed(piece); err != nil {
			t.Fatal(err)
		}
		r := p.Root()
		got = append(got, seen{r.Get("path").Text(), r.Get("content").Text(), p.Done()})
	}
	want := []seen{
		{}, {Path: "a."}, {Path: "a.go"}, {Path: "a.go", Content: "li"}, {Path: "a.go", Content: "li\n"},
		{Path: "a.go", Content: "li\n€"}, {Path: "a.go", Content: "li\n€"}, {Path: "a.go", Content: "li\n€€ x"},
		{Path: "a.go", Content: "li\n€€ x", Done: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestParserIsLinear counts allocations instead of time. Since the text of a growing string is
// shared, reading the text after every byte must not allocate more per byte if the text is twice as
// long.
func TestParserIsLinear(t *testing.T) {
	allocated := func(n int) float64 {
		doc := `{"content":"` + strings.Repeat("x", n) + `"}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var p Parser
		for i := range doc {
			if p.Feed(doc[i:i+1]) != nil || p.Root().Get("content").Text() == "no" {
				t.Fatal()
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	small, large := allocated(20_000), allocated(80_000)
	if large > 6*small {
		t.Errorf("4 times the text took %.1f times the memory: %v, %v", large/small, small, large)
	}
}

func BenchmarkParser(b *testing.B) {
	doc := `{"path":"a/b.go","content":` + string(mustJSON(strings.Repeat("func main() {\n\tprintln(\"x\")\n}\n", 2000))) + `}`
	for _, n := range []int{1, 16, len(doc)} {
		b.Run(fmt.Sprintf("chunk=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for range b.N {
				if _, err := parseChunks(doc, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustJSON(v any) []byte {
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(buf.Bytes())
}
