package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// file is a GGUF file (version 3) under construction.
type file struct {
	keys, infos, data bytes.Buffer
	nkeys, ntensors   uint64
}

// Value types of the file format.
const (
	kindUint32  = 4
	kindInt32   = 5
	kindFloat32 = 6
	kindBool    = 7
	kindString  = 8
	kindArray   = 9
)

// alignment is the alignment of tensor data, the default of the format.
const alignment = 32

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)), []byte(s))
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // a value of a type without a fixed size
		}
	}
}

// set writes a key and its value.
func (f *file) set(key string, value any) {
	f.nkeys++
	put(&f.keys, key)
	switch v := value.(type) {
	case string:
		put(&f.keys, uint32(kindString), v)
	case bool:
		put(&f.keys, uint32(kindBool), v)
	case uint32:
		put(&f.keys, uint32(kindUint32), v)
	case float32:
		put(&f.keys, uint32(kindFloat32), v)
	case []string:
		put(&f.keys, uint32(kindArray), uint32(kindString), uint64(len(v)))
		for _, s := range v {
			put(&f.keys, s)
		}
	case []int32:
		put(&f.keys, uint32(kindArray), uint32(kindInt32), uint64(len(v)), v)
	case []float32:
		put(&f.keys, uint32(kindArray), uint32(kindFloat32), uint64(len(v)), v)
	default:
		panic(fmt.Sprintf("no kind for %T", value))
	}
}

// add writes a tensor's description and bytes.
func (f *file) add(name string, t format, dims []int, values []float32) {
	f.ntensors++
	put(&f.infos, name, uint32(len(dims)))
	for _, d := range dims {
		put(&f.infos, uint64(d))
	}
	put(&f.infos, t.number, uint64(f.data.Len()))
	f.data.Write(t.encode(values))
	pad(&f.data)
}

func pad(b *bytes.Buffer) {
	for b.Len()%alignment != 0 {
		b.WriteByte(0)
	}
}

// bytes returns the whole file.
func (f *file) bytes() []byte {
	var b bytes.Buffer
	put(&b, []byte("GGUF"), uint32(3), f.ntensors, f.nkeys)
	b.Write(f.keys.Bytes())
	b.Write(f.infos.Bytes())
	pad(&b)
	b.Write(f.data.Bytes())
	return b.Bytes()
}
