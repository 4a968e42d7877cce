package vectors

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// FuzzFile opens arbitrary bytes as a store, searches it, appends to it, rewrites it and opens it
// again. Nothing may panic, hang or use more memory than the file's size justifies, and the
// appended vectors must be there.
func FuzzFile(f *testing.F) {
	for _, n := range []int{1, 3, 70} {
		path := filepath.Join(f.TempDir(), "seed")
		s, err := Open(path, Config{Model: "test 1"})
		if err != nil {
			f.Fatal(err)
		}
		add(f, s, keys(0, n), cloud(random(1), n, 4))
		if err := s.Delete(keys(0, n/2)); err != nil {
			f.Fatal(err)
		}
		add(f, s, keys(n, n+2), cloud(random(2), 2, 4))
		if err := s.Close(); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
		f.Add(data[:len(data)-70], true)
	}
	f.Add(header{model: "test 1", dim: MaxDim}.encode(), true)
	f.Fuzz(func(t *testing.T, data []byte, mend bool) {
		if mend {
			mendSums(data)
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		dim := s.Status().Dim
		if dim == 0 {
			dim = 4
		}
		all := cloud(random(3), 3, dim)
		for _, k := range []int{1, 5, 1 << 30} {
			for _, hit := range search(t, s, all[0], k) {
				if math.IsNaN(float64(hit.Score)) {
					t.Fatalf("%+v", hit)
				}
			}
		}
		add(t, s, keys(500, 503), all)
		if missing, err := s.Select(keys(500, 503)).Missing(); err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		s.write.Lock()
		err := s.rewrite(t.Context())
		s.write.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		rows := s.Status().Rows
		if s = reopened(t, s); s.Status().Rows != rows {
			t.Fatalf("%d rows, then %+v", rows, s.Status())
		}
		if missing, err := s.Select(keys(500, 503)).Missing(); err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
	})
}

// mendSums corrects the checksums of a file, so that the code behind the checks is reached.
func mendSums(data []byte) {
	h := header{}
	if len(data) < headSize {
		return
	}
	n := int(data[16])
	h.model = string(data[headSize:min(len(data), headSize+n)])
	if int64(len(data)) < h.size() {
		return
	}
	put := func(b []byte, sum uint32) {
		b[0], b[1], b[2], b[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	}
	put(data[20:], h.sum(data))
	dim := int(data[12]) | int(data[13])<<8
	for at := h.size(); at+headSize <= int64(len(data)); {
		d := data[at:]
		put(d[60:], checksum(d[:60]))
		b := parseHead(d, dim)
		if b == nil {
			return
		}
		b.bind(d, dim)
		put(d[16:], checksum(b.table(d)))
		put(d[20:], checksum(b.rounded))
		put(d[60:], checksum(d[:60]))
		at += b.size
	}
}
