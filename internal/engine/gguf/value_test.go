package gguf

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGetters(t *testing.T) {
	f, err := Parse(small(t))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.String("general.architecture"); v != "test" || !ok {
		t.Errorf("string %q %v", v, ok)
	}
	type uintCase struct {
		u  uint64
		ok bool
	}
	for key, want := range map[string]uintCase{
		"u8": {255, true}, "u16": {65535, true}, "u32": {4e9, true}, "u64": {math.MaxUint64, true},
		"i8": {}, "i16": {}, "i32": {}, "i64": {}, "f32": {}, "bool": {}, "strings": {}, "none": {}, "general.architecture": {},
	} {
		if u, ok := f.Uint(key); (uintCase{u, ok}) != want {
			t.Errorf("Uint(%s) is %d %v", key, u, ok)
		}
	}
	type intCase struct {
		n  int64
		ok bool
	}
	for key, want := range map[string]intCase{
		"u8": {255, true}, "u32": {4e9, true}, "u64": {}, "i8": {-1, true}, "i16": {-2, true}, "i32": {-3, true}, "i64": {-5, true}, "f32": {}, "none": {},
	} {
		if n, ok := f.Int(key); (intCase{n, ok}) != want {
			t.Errorf("Int(%s) is %d %v", key, n, ok)
		}
	}
	for key, want := range map[string]float64{"f32": 1.5, "f64": 2.25, "i8": -1, "u32": 4e9} {
		if x, ok := f.Float(key); x != want || !ok {
			t.Errorf("Float(%s) is %v %v", key, x, ok)
		}
	}
	for _, key := range []string{"bool", "strings", "none"} {
		if x, ok := f.Float(key); ok {
			t.Errorf("Float(%s) is %v", key, x)
		}
	}
	if v, ok := f.Bool("bool"); !v || !ok {
		t.Errorf("Bool is %v %v", v, ok)
	}
	if kind, elem, n, ok := f.Kind("ints"); kind != KindArray || elem != KindInt32 || n != 2 || !ok {
		t.Errorf("Kind is %v %v %d %v", kind, elem, n, ok)
	}
}

func TestArrays(t *testing.T) {
	f, err := Parse(small(t))
	if err != nil {
		t.Fatal(err)
	}
	ss, ok := f.Strings("strings")
	if d := cmp.Diff([]string{"a", "", "Ġb"}, ss); d != "" || !ok {
		t.Error(d, ok)
	}
	ns, ok := f.Ints("ints")
	if d := cmp.Diff([]int64{1, -2}, ns); d != "" || !ok {
		t.Error(d, ok)
	}
	bs, ok := f.Ints("bools")
	if d := cmp.Diff([]int64{1, 0}, bs); d != "" || !ok {
		t.Error(d, ok)
	}
	xs, ok := f.Floats("floats")
	if !ok || len(xs) != 2 || xs[0] != 0.5 || xs[1] == xs[1] {
		t.Error(xs, ok)
	}
	for _, key := range []string{"nested", "u8", "floats", "none"} {
		if _, ok := f.Strings(key); ok {
			t.Errorf("Strings(%s) is there", key)
		}
		if _, ok := f.Ints(key); ok {
			t.Errorf("Ints(%s) is there", key)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Strings("strings"); ok {
		t.Error("an array is there after Close")
	}
	if v, _ := f.String("general.architecture"); v != "test" || ss[2] != "Ġb" {
		t.Error("strings are gone after Close")
	}
	if tn, _ := f.Tensor("t.weight"); tn.Data != nil {
		t.Error("a tensor's data is there after Close")
	}
}

func TestTypes(t *testing.T) {
	for typ, want := range map[Type]int{TypeF32: 1024, TypeF16: 512, TypeQ4_0: 144, TypeQ8_0: 272, TypeQ2_K: 84, TypeQ6_K: 210, TypeMXFP4: 136} {
		if n, err := typ.RowBytes(256); n != want || err != nil {
			t.Errorf("row of %v: %d bytes, %v", typ, n, err)
		}
		if got, ok := ParseType(typ.String()); got != typ || !ok {
			t.Errorf("ParseType(%v) is %v %v", typ, got, ok)
		}
	}
	for typ, cols := range map[Type]int{TypeQ8_0: 33, TypeF32: -1, TypeF64: math.MaxInt / 4, 4: 32, 99: 1, 16: 256} {
		if n, err := typ.RowBytes(cols); err == nil {
			t.Errorf("row of %d %v: %d bytes and no error", cols, typ, n)
		}
	}
	if slices.Contains([]int{Type(16).BlockSize(), Type(1000).BlockSize()}, 1) || Type(1000).String() != "type 1000" {
		t.Error("an unknown type has a size")
	}
}
