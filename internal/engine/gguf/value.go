package gguf

import (
	"encoding/binary"
	"math"
)

// Kind is the type of a metadata value, numbered as in the file.
type Kind uint32

// The kinds of metadata values.
const (
	KindUint8 Kind = iota
	KindInt8
	KindUint16
	KindInt16
	KindUint32
	KindInt32
	KindFloat32
	KindBool
	KindString
	KindArray
	KindUint64
	KindInt64
	KindFloat64
)

var kindNames = [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64"}

// kindSizes holds the bytes that a value of each kind takes; 0 for kinds whose size is in the file.
var kindSizes = [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// String returns the kind's name, such as "uint32".
func (k Kind) String() string {
	if int64(k) < int64(len(kindNames)) {
		return kindNames[k]
	}
	return "unknown kind"
}

// value is one metadata value: its bytes in the file, already checked, and what is needed to decode
// them.
type value struct {
	kind  Kind
	elem  Kind   // of an array
	count int    // of an array
	raw   []byte // the value as it is in the file, without the kind; a copy, except for arrays
	body  []byte // the elements of an array
}

// number reads a fixed-size value as a little-endian number.
func number(k Kind, b []byte) uint64 {
	switch kindSizes[k] {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	default:
		return binary.LittleEndian.Uint64(b)
	}
}

// integer reads an integer value; the result neg reports whether u is the two's complement of a
// negative number.
func integer(k Kind, b []byte) (u uint64, neg, ok bool) {
	u = number(k, b)
	switch k {
	case KindUint8, KindUint16, KindUint32, KindUint64:
		return u, false, true
	case KindInt8:
		u = uint64(int64(int8(u)))
	case KindInt16:
		u = uint64(int64(int16(u)))
	case KindInt32:
		u = uint64(int64(int32(u)))
	case KindInt64:
	default:
		return 0, false, false
	}
	return u, int64(u) < 0, true
}

// float reads a number as a float64.
func float(k Kind, b []byte) (float64, bool) {
	switch k {
	case KindFloat32:
		return float64(math.Float32frombits(uint32(number(k, b)))), true
	case KindFloat64:
		return math.Float64frombits(number(k, b)), true
	}
	u, neg, ok := integer(k, b)
	if neg {
		return float64(int64(u)), ok
	}
	return float64(u), ok
}

// Keys lists the metadata keys in the order of the file.
func (f *File) Keys() []string { return append([]string(nil), f.keys...) }

// Kind returns the kind of a key's value, and for an array also the kind and number of its
// elements.
func (f *File) Kind(key string) (kind, elem Kind, count int, ok bool) {
	v, ok := f.values[key]
	return v.kind, v.elem, v.count, ok
}

// scalar returns a value that is neither a string nor an array.
func (f *File) scalar(key string) (value, bool) {
	v, ok := f.values[key]
	return v, ok && kindSizes[v.kind] > 0
}

// array returns an array, or false after Close.
func (f *File) array(key string) (value, bool) {
	v, ok := f.values[key]
	return v, ok && v.kind == KindArray && f.open
}

// Uint returns the value of an integer key of any width, or false if there is none or it is
// negative.
func (f *File) Uint(key string) (uint64, bool) {
	v, ok := f.scalar(key)
	if !ok {
		return 0, false
	}
	u, neg, ok := integer(v.kind, v.raw)
	if !ok || neg {
		return 0, false
	}
	return u, true
}

// Int returns the value of an integer key of any width, or false if there is none or it does not
// fit.
func (f *File) Int(key string) (int64, bool) {
	v, ok := f.scalar(key)
	if !ok {
		return 0, false
	}
	u, neg, ok := integer(v.kind, v.raw)
	if !ok || (!neg && u > math.MaxInt64) {
		return 0, false
	}
	return int64(u), true
}

// Float returns the value of a number key, or false if there is none. Integers are converted.
func (f *File) Float(key string) (float64, bool) {
	v, ok := f.scalar(key)
	if !ok {
		return 0, false
	}
	return float(v.kind, v.raw)
}

// Bool returns the value of a boolean key; found reports whether there is one.
func (f *File) Bool(key string) (val, found bool) {
	v, ok := f.values[key]
	if !ok || v.kind != KindBool {
		return false, false
	}
	return v.raw[0] != 0, true
}

// String returns the value of a string key. It stays valid after Close. The bytes are as in the
// file, which need not be UTF-8.
func (f *File) String(key string) (string, bool) {
	v, ok := f.values[key]
	if !ok || v.kind != KindString {
		return "", false
	}
	return string(v.raw[8:]), true
}

// Strings returns the value of an array of strings. The strings share one copy of the array's
// bytes, which stays valid after Close. As long as one string is used, all of them stay in memory.
// After Close no array is available.
func (f *File) Strings(key string) ([]string, bool) {
	v, ok := f.array(key)
	if !ok || v.elem != KindString {
		return nil, false
	}
	body := string(v.body)
	out := make([]string, v.count)
	at := 0
	for i := range out {
		n := int(binary.LittleEndian.Uint64(v.body[at:]))
		out[i] = body[at+8 : at+8+n]
		at += 8 + n
	}
	return out, true
}

// Floats returns a copy of an array of numbers, or false if there is none or an element is not a
// number. Integers are converted.
func (f *File) Floats(key string) ([]float32, bool) {
	v, ok := f.array(key)
	if !ok || kindSizes[v.elem] == 0 || v.elem == KindBool {
		return nil, false
	}
	size := kindSizes[v.elem]
	out := make([]float32, v.count)
	for i := range out {
		x, _ := float(v.elem, v.body[i*size:])
		out[i] = float32(x)
	}
	return out, true
}

// Ints returns a copy of an array of integers of any width or of booleans (as 0 and 1), or false if
// there is none or an element does not fit.
func (f *File) Ints(key string) ([]int64, bool) {
	v, ok := f.array(key)
	if !ok || kindSizes[v.elem] == 0 || v.elem == KindFloat32 || v.elem == KindFloat64 {
		return nil, false
	}
	size := kindSizes[v.elem]
	out := make([]int64, v.count)
	for i := range out {
		b := v.body[i*size:]
		if v.elem == KindBool {
			out[i] = int64(min(b[0], 1))
			continue
		}
		u, neg, _ := integer(v.elem, b)
		if !neg && u > math.MaxInt64 {
			return nil, false
		}
		out[i] = int64(u)
	}
	return out, true
}
