package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriterErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		fill func(w *Writer)
		want string
	}{
		"value type":    {func(w *Writer) { w.Set("k", struct{}{}) }, `metadata key "k": a value of type struct {}`},
		"int":           {func(w *Writer) { w.Set("k", 1) }, "a value of type int cannot"},
		"nil":           {func(w *Writer) { w.Set("k", nil) }, "nil is no value"},
		"empty key":     {func(w *Writer) { w.Set("", true) }, "key of 0 bytes"},
		"alignment":     {func(w *Writer) { w.SetUint32(keyAlignment, 20) }, "power of two"},
		"tensor twice":  {func(w *Writer) { w.AddTensor("t", 0, []int{1}, nil); w.AddTensor("t", 0, []int{1}, nil) }, "twice"},
		"tensor name":   {func(w *Writer) { w.AddTensor(strings.Repeat("x", 64), 0, []int{1}, nil) }, "64 bytes"},
		"dimensions":    {func(w *Writer) { w.AddTensor("t", 0, nil, nil) }, "0 dimensions"},
		"zero":          {func(w *Writer) { w.AddTensor("t", 0, []int{4, 0}, nil) }, "dimensions [4 0]"},
		"overflow":      {func(w *Writer) { w.AddTensor("t", 0, []int{math.MaxInt / 2, 3}, nil) }, "dimensions"},
		"block":         {func(w *Writer) { w.AddTensor("t", TypeQ4_0, []int{31}, nil) }, "multiple of the 32"},
		"too few bytes": {func(w *Writer) { w.AddTensor("t", 0, []int{4}, make([]byte, 15)) }, "15 bytes were given"},
		"too many":      {func(w *Writer) { w.AddTensor("t", 0, []int{4}, make([]byte, 17)) }, "17 bytes were given"},
		"func": {func(w *Writer) {
			w.AddTensorFunc("t", 0, []int{4}, func(io.Writer) error { return errors.New("no luck") })
		}, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Writer{}
			tt.fill(w)
			if _, err := w.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not tell %q", err, tt.want)
			}
			dir := t.TempDir()
			if err := w.Create(filepath.Join(dir, "f.gguf")); err == nil {
				t.Error("Create made a file of it")
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("Create left %v", left)
			}
		})
	}
}

func TestWriterAlignment(t *testing.T) {
	for _, align := range []uint32{8, 64, 4096} {
		w := &Writer{}
		w.SetUint32(keyAlignment, align)
		w.AddTensor("a", TypeF16, []int{3}, []byte("aaaaaa"))
		w.AddTensor("b", TypeF16, []int{3}, []byte("bbbbbb"))
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		f, err := Parse(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		b, _ := f.Tensor("b")
		if at := bytes.Index(out.Bytes(), []byte("bbbbbb")); string(b.Data) != "bbbbbb" || at%int(align) != 0 {
			t.Errorf("alignment %d: tensor at %d is %q", align, at, b.Data)
		}
	}
}

// TestSplit checks that opening the first file of a model that is split into three files opens the
// whole model.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	part := func(i, no, count int, tensor string) string {
		w := &Writer{}
		w.Set("split.no", uint16(no))
		w.Set("split.count", uint16(count))
		w.AddTensor(tensor, TypeF32, []int{1}, []byte{byte(no), 0, 0, 0})
		path := filepath.Join(dir, fmt.Sprintf("m-%05d-of-%05d.gguf", i, 3))
		if err := w.Create(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second, third := part(1, 0, 3, "a"), part(2, 1, 3, "b"), part(3, 2, 3, "c")
	f, err := Open(first)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b", "c"} {
		if x, ok := f.Tensor(name); !ok || x.Data[0] != byte(i) {
			t.Errorf("tensor %s is %v", name, x)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(second); err == nil || !strings.Contains(err.Error(), "part 2 of 3") {
		t.Error("the second part alone:", err)
	}
	part(3, 2, 3, "a")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), `tensor "a" is in an earlier part`) {
		t.Error("a tensor twice:", err)
	}
	part(3, 1, 3, "c")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), "different models") {
		t.Error("a wrong part:", err)
	}
	if err := os.Remove(third); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), third) {
		t.Error("a missing part:", err)
	}
	other := filepath.Join(dir, "renamed.gguf")
	if err := os.Rename(first, other); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "its name must end in -00001-of-00003.gguf") {
		t.Error("a renamed first part:", err)
	}
}
