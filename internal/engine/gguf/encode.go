package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
)

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// kindOf returns the kind of metadata value that a Go type is written as.
func kindOf(t reflect.Type) (Kind, bool) {
	switch t.Kind() {
	case reflect.Uint8:
		return KindUint8, true
	case reflect.Int8:
		return KindInt8, true
	case reflect.Uint16:
		return KindUint16, true
	case reflect.Int16:
		return KindInt16, true
	case reflect.Uint32:
		return KindUint32, true
	case reflect.Int32:
		return KindInt32, true
	case reflect.Uint64:
		return KindUint64, true
	case reflect.Int64:
		return KindInt64, true
	case reflect.Float32:
		return KindFloat32, true
	case reflect.Float64:
		return KindFloat64, true
	case reflect.Bool:
		return KindBool, true
	case reflect.String:
		return KindString, true
	case reflect.Slice:
		return KindArray, true
	}
	return 0, false
}

// appendValue appends a metadata value as it is stored in the file, without its kind.
func appendValue(b []byte, value any) ([]byte, Kind, error) {
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return nil, 0, fmt.Errorf("nil is no value")
	}
	b, err := appendReflect(b, v, 0)
	k, _ := kindOf(v.Type())
	return b, k, err
}

func appendReflect(b []byte, v reflect.Value, depth int) ([]byte, error) {
	le := binary.LittleEndian
	k, ok := kindOf(v.Type())
	switch {
	case !ok:
		return nil, fmt.Errorf("a value of type %v cannot be written (numbers of fixed size, bool, string and slices of them can)", v.Type())
	case k == KindString:
		return appendString(b, v.String()), nil
	case k == KindBool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case k == KindFloat32:
		return le.AppendUint32(b, math.Float32bits(float32(v.Float()))), nil
	case k == KindFloat64:
		return le.AppendUint64(b, math.Float64bits(v.Float())), nil
	case k == KindArray:
		return appendSlice(b, v, depth)
	}
	var n uint64
	if v.CanInt() {
		n = uint64(v.Int())
	} else {
		n = v.Uint()
	}
	var raw [8]byte
	le.PutUint64(raw[:], n)
	return append(b, raw[:kindSizes[k]]...), nil
}

func appendSlice(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, fmt.Errorf("slices nest deeper than %d", maxDepth)
	}
	e, ok := kindOf(v.Type().Elem())
	if !ok {
		return nil, fmt.Errorf("a slice of type %v cannot be written", v.Type())
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(e))
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Len()))
	var err error
	for i := range v.Len() {
		if b, err = appendReflect(b, v.Index(i), depth+1); err != nil {
			return nil, err
		}
	}
	return b, nil
}
