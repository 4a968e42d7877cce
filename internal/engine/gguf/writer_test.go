package gguf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rewrite copies all of f into a Writer.
func rewrite(f *File) *Writer {
	w := &Writer{}
	w.CopyMetadata(f, nil)
	for _, t := range f.Tensors() {
		w.AddTensor(t.Name, t.Type, t.Dims, t.Data)
	}
	return w
}

// TestRewriteReal checks that rewriting a file from another program preserves its metadata and
// tensors, and even its bytes, since both programs use the same layout.
func TestRewriteReal(t *testing.T) {
	for _, path := range sharedFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var out bytes.Buffer
			n, err := rewrite(f).WriteTo(&out)
			if err != nil || n != int64(out.Len()) {
				t.Fatal(n, out.Len(), err)
			}
			g, err := Parse(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(f.Tensors(), g.Tensors(), cmp.Comparer(bytes.Equal)); d != "" {
				t.Error("tensors (-read +rewritten):", d)
			}
			if d := cmp.Diff(f.keys, g.keys); d != "" {
				t.Error("keys (-read +rewritten):", d)
			}
			for _, k := range f.keys {
				if !bytes.Equal(f.values[k].raw, g.values[k].raw) {
					t.Errorf("value of %s differs", k)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := out.Bytes() // padded at the end, which some writers omit
			if len(got) >= len(want)+defaultAlignment || !bytes.Equal(got, append(want, make([]byte, len(got)-len(want))...)) {
				t.Errorf("the bytes differ: %d read, %d rewritten", len(want), len(got))
			}
		})
	}
}
