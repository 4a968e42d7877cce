package gguf

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// small returns a file with every kind of value and two tensors.
func small(t testing.TB) []byte {
	t.Helper()
	w := &Writer{}
	w.SetString("general.architecture", "test")
	w.Set("u8", uint8(255))
	w.Set("i8", int8(-1))
	w.Set("u16", uint16(65535))
	w.Set("i16", int16(-2))
	w.Set("u32", uint32(4_000_000_000))
	w.Set("i32", int32(-3))
	w.Set("u64", uint64(math.MaxUint64))
	w.Set("i64", int64(-5))
	w.Set("f32", float32(1.5))
	w.Set("f64", 2.25)
	w.Set("bool", true)
	w.Set("strings", []string{"a", "", "Ġb"})
	w.Set("ints", []int32{1, -2})
	w.Set("floats", []float32{0.5, float32(math.NaN())})
	w.Set("bools", []bool{true, false})
	w.Set("nested", [][]uint16{{1, 2}, {}})
	w.AddTensor("t.weight", TypeF32, []int{2, 2}, bytes.Repeat([]byte{1}, 16))
	w.AddTensor("q.weight", TypeQ8_0, []int{32}, bytes.Repeat([]byte{2}, 34))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// touch reads everything a File offers.
func touch(f *File) (sum int) {
	for _, k := range f.Keys() {
		f.Kind(k)
		f.Uint(k)
		f.Int(k)
		f.Float(k)
		f.Bool(k)
		s, _ := f.String(k)
		sum += len(s)
		ss, _ := f.Strings(k)
		for _, s := range ss {
			sum += len(s)
		}
		x, _ := f.Floats(k)
		n, _ := f.Ints(k)
		sum += len(x) + len(n)
	}
	for _, t := range f.Tensors() {
		sum += t.Rows()
		for _, b := range t.Data {
			sum += int(b)
		}
		f.Release(t)
	}
	return sum
}

// TestTruncated checks that a file that is cut off at any byte is refused, except within the
// padding at its end.
func TestTruncated(t *testing.T) {
	data := small(t)
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	last := f.Tensors()[1].Data
	whole := bytes.LastIndex(data, last) + len(last)
	for n := range data {
		f, err := Parse(data[:n:n])
		if (err == nil) != (n >= whole) {
			t.Fatalf("%d of %d bytes: error %v", n, len(data), err)
		}
		if err == nil {
			touch(f)
		} else if !strings.HasPrefix(err.Error(), "gguf: parse: ") {
			t.Fatalf("%d bytes: error %q does not say where it is from", n, err)
		}
	}
}

// TestFlipped checks that a file with any one byte changed is parsed and read without a panic.
//
// Evidence: engine · Damaged and hostile GGUF files are errors
func TestFlipped(t *testing.T) {
	data := small(t)
	for i := range data {
		for _, x := range []byte{0xff, 0x01, 0x80} {
			b := bytes.Clone(data)
			b[i] ^= x
			if f, err := Parse(b); err == nil {
				touch(f)
			}
		}
	}
}

// raw builds a file piece by piece, including invalid contents.
type raw struct{ b []byte }

func header(version uint32, tensors, pairs uint64) *raw {
	r := &raw{[]byte(magic)}
	return r.u32(version).u64(tensors).u64(pairs)
}
func (r *raw) u32(v uint32) *raw { r.b = binary.LittleEndian.AppendUint32(r.b, v); return r }
func (r *raw) u64(v uint64) *raw { r.b = binary.LittleEndian.AppendUint64(r.b, v); return r }
func (r *raw) str(s string) *raw { r.b = appendString(r.b, s); return r }
func (r *raw) pad(n int) *raw    { r.b = append(r.b, make([]byte, n)...); return r }

// tensor appends a tensor's description, without its bytes.
func (r *raw) tensor(name string, t Type, offset uint64, dims ...uint64) *raw {
	r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r.u64(d)
	}
	return r.u32(uint32(t)).u64(offset)
}

func hostile() map[string]struct {
	data []byte
	want string
} {
	type c = struct {
		data []byte
		want string
	}
	deep := header(3, 0, 1).str("k").u32(uint32(KindArray))
	for range 100 {
		deep.u32(uint32(KindArray)).u64(1)
	}
	big := header(3, 0, 0).b
	be := append([]byte(magic), 0, 0, 0, 3)
	return map[string]c{
		"empty":               {nil, "truncated"},
		"zip":                 {[]byte("PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaa"), "not a GGUF file"},
		"big-endian":          {append(be, big[8:]...), "big-endian (version 3)"},
		"version 1":           {header(1, 0, 0).b, "version 1 is not supported"},
		"version 4":           {header(4, 0, 0).b, "version 4 is not supported"},
		"many tensors":        {header(3, 1<<62, 0).pad(100).b, "tensor count is"},
		"many keys":           {header(3, 0, 1<<40).pad(100).b, "metadata count is"},
		"some tensors":        {header(3, 5, 0).pad(100).b, "tensor count is 5"},
		"long key":            {header(3, 0, 1).u64(math.MaxUint64).pad(40).b, "runs past the end"},
		"empty key":           {header(3, 0, 1).str("").u32(0).pad(8).b, "has 0 bytes"},
		"key twice":           {header(3, 0, 2).str("k").u32(0).pad(1).str("k").u32(0).pad(1).b, `"k" is there twice`},
		"unknown kind":        {header(3, 0, 1).str("k").u32(13).pad(8).b, "value kind 13"},
		"unknown elements":    {header(3, 0, 1).str("k").u32(9).u32(99).u64(0).b, "array element kind 99"},
		"long array":          {header(3, 0, 1).str("k").u32(9).u32(10).u64(1 << 61).pad(64).b, "array length is"},
		"long array, wraps":   {header(3, 0, 1).str("k").u32(9).u32(10).u64(1<<61 + 1).pad(64).b, "array length is"},
		"string in array":     {header(3, 0, 1).str("k").u32(9).u32(8).u64(1).u64(1 << 63).pad(64).b, "element 0"},
		"deep arrays":         {deep.pad(64).b, "nest deeper"},
		"alignment 0":         {header(3, 0, 1).str(keyAlignment).u32(4).u32(0).b, "general.alignment is 0"},
		"alignment 24":        {header(3, 0, 1).str(keyAlignment).u32(4).u32(24).b, "general.alignment is 24"},
		"alignment string":    {header(3, 0, 1).str(keyAlignment).u32(8).str("32").b, "general.alignment is a string"},
		"no dimensions":       {header(3, 1, 0).tensor("t", 0, 0).pad(64).b, "0 dimensions"},
		"many dimensions":     {header(3, 1, 0).tensor("t", 0, 0, 1, 1, 1, 1, 1).pad(64).b, "5 dimensions"},
		"zero dimension":      {header(3, 1, 0).tensor("t", 0, 0, 4, 0).pad(64).b, "dimension 1 is 0"},
		"dimension product":   {header(3, 1, 0).tensor("t", 0, 0, 1<<32, 1<<32).pad(64).b, "dimension 1"},
		"byte product":        {header(3, 1, 0).tensor("t", 0, 0, 1<<31, 1<<31).pad(64).b, "overflow"},
		"unknown type":        {header(3, 1, 0).tensor("t", 77, 0, 32).pad(64).b, "type 77 is not supported"},
		"other type":          {header(3, 1, 0).tensor("t", 16, 0, 256).pad(64).b, "IQ2_XXS is not supported"},
		"ragged blocks":       {header(3, 1, 0).tensor("t", TypeQ8_0, 0, 33).pad(64).b, "not a multiple of the 32"},
		"offset":              {header(3, 1, 0).tensor("t", 0, 1<<62, 4).pad(64).b, "past the end"},
		"offset, wraps":       {header(3, 1, 0).tensor("t", 0, math.MaxUint64-31, 4).pad(64).b, "past the end"},
		"misaligned":          {header(3, 1, 0).tensor("t", 0, 4, 4).pad(64).b, "not a multiple of the alignment"},
		"tensor twice":        {header(3, 2, 0).tensor("t", 0, 0, 4).tensor("t", 0, 32, 4).pad(99).b, `"t" is there twice`},
		"overlap":             {header(3, 2, 0).tensor("a", 0, 0, 16).tensor("b", 0, 32, 4).pad(199).b, "overlap"},
		"overlap, same place": {header(3, 2, 0).tensor("a", 0, 0, 4).tensor("b", 0, 0, 4).pad(199).b, "overlap"},
		"tensor outside":      {header(3, 1, 0).tensor("t", 0, 0, 1000).pad(64).b, "past the end"},
	}
}

// Evidence: engine · Damaged and hostile GGUF files are errors
func TestHostile(t *testing.T) {
	for name, tt := range hostile() {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not tell %q", err, tt.want)
			}
		})
	}
}

// TestHostileAllocation: the counts in a file alone do not cause large allocations.
func TestHostileAllocation(t *testing.T) {
	cases := hostile()
	large := cases["empty"]
	large.data = header(3, 1<<18, 1<<19).pad(16 << 20).b // counts that are possible for the file's size
	cases["large file"] = large
	for name, tt := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			_, _ = Parse(tt.data)
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 10; n > 256<<10 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(tt.data))
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.gguf")
	if err := os.WriteFile(bad, []byte("GGUF"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.gguf")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		bad: "gguf: parse " + bad + ": version", empty: "gguf: parse " + empty + ": magic", dir: "not a regular file",
		filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): error %v does not tell %q", path, err, want)
		}
	}
}

// Evidence: engine · Damaged and hostile GGUF files are errors
func FuzzParse(f *testing.F) {
	data := small(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	for _, tt := range hostile() {
		f.Add(tt.data)
	}
	nan := bytes.Clone(data)
	copy(nan[len(nan)-96:], bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 24))
	f.Add(nan)
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Parse(data)
		if err != nil {
			return
		}
		touch(g)
		var once, twice bytes.Buffer
		if _, err := rewrite(g).WriteTo(&once); err != nil {
			return // these names and keys can be read but not written
		}
		h, err := Parse(once.Bytes())
		if err != nil {
			t.Fatal("what was rewritten cannot be read:", err)
		}
		if _, err := rewrite(h).WriteTo(&twice); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatal("rewriting a rewritten file changes it:", err)
		}
	})
}
