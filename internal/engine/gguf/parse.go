package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	maxDims          = 4
	// The fewest bytes that a key with its value and a tensor's description take. A count for which
	// the file is too small is invalid.
	leastPair   = 8 + 4 + 1
	leastTensor = 8 + 4 + 8 + 4 + 8
	// The maximum number of entries for which memory is reserved because of a count alone. Real
	// files have some hundred entries.
	mostReserved = 1024
)

// keyAlignment is the metadata key for the alignment of the tensors in the file.
const keyAlignment = "general.alignment"

// Parse reads a GGUF file that is in memory. Tensors and arrays are views of data, which must not
// change while the File is used. For any data, the result is an error or a File whose views are all
// inside data.
func Parse(data []byte) (*File, error) {
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("gguf: parse: %w", err)
	}
	return f, nil
}

func parse(data []byte) (*File, error) {
	c := &cursor{data: data}
	f := &File{open: true, size: int64(len(data))}
	if err := parseMagic(c, f); err != nil {
		return nil, err
	}
	tensors, err := c.count(1, "tensor count")
	if err != nil {
		return nil, err
	}
	pairs, err := c.count(leastPair, "metadata count")
	if err != nil {
		return nil, err
	}
	if tensors > c.left()/leastTensor {
		return nil, fmt.Errorf("tensor count is %d, more than the remaining %d bytes can hold", tensors, c.left())
	}
	if err := parsePairs(c, f, pairs); err != nil {
		return nil, err
	}
	if err := parseAlignment(f); err != nil {
		return nil, err
	}
	infos, err := parseInfos(c, f, tensors)
	if err != nil {
		return nil, err
	}
	return f, placeTensors(c, f, infos)
}

func parseMagic(c *cursor, f *File) error {
	m, err := c.take(4, "magic")
	if err != nil {
		return err
	}
	if string(m) != magic {
		return fmt.Errorf("not a GGUF file: it starts with %q, not %q", m, magic)
	}
	v, err := c.u32("version")
	if err != nil {
		return err
	}
	if s := bits.ReverseBytes32(v); v > math.MaxUint16 && s <= math.MaxUint16 {
		return fmt.Errorf("the file is big-endian (version %d): convert it to little-endian first", s)
	}
	if v != 2 && v != 3 {
		return fmt.Errorf("version %d is not supported (2 and 3 are): convert the file with a newer tool", v)
	}
	f.version = int(v)
	return nil
}

func parsePairs(c *cursor, f *File, n int) error {
	f.keys = make([]string, 0, min(n, mostReserved))
	f.values = make(map[string]value, min(n, mostReserved))
	for i := range n {
		k, err := c.str("key")
		if err != nil {
			return fmt.Errorf("metadata key %d of %d: %w", i+1, n, err)
		}
		key := string(k)
		if len(key) == 0 || len(key) > math.MaxUint16 {
			return fmt.Errorf("metadata key %d of %d has %d bytes (1 to 65535 are allowed)", i+1, n, len(key))
		}
		if _, dup := f.values[key]; dup {
			return fmt.Errorf("metadata key %q is there twice", key)
		}
		kind, err := c.u32("value kind")
		if err != nil {
			return fmt.Errorf("metadata key %q: %w", key, err)
		}
		v, err := c.value(Kind(kind), 0)
		if err != nil {
			return fmt.Errorf("metadata key %q: %w", key, err)
		}
		if v.kind != KindArray {
			v.raw = bytes.Clone(v.raw) // copied, because it is small, so that it can be used after Close
		}
		f.keys = append(f.keys, key)
		f.values[key] = v
	}
	return nil
}

func parseAlignment(f *File) error {
	f.alignment = defaultAlignment
	v, ok := f.values[keyAlignment]
	if !ok {
		return nil
	}
	a, isInt := f.Uint(keyAlignment)
	if !isInt {
		return fmt.Errorf("%s is a %v that is no positive integer", keyAlignment, v.kind)
	}
	// The format requires a multiple of 8; the upper bound keeps offsets far from overflow.
	if a < 8 || a > 1<<30 || a&(a-1) != 0 {
		return fmt.Errorf("%s is %d: it must be a power of two from 8 to 2^30", keyAlignment, a)
	}
	f.alignment = int(a)
	return nil
}

// info describes a tensor whose bytes have not been located yet.
type info struct {
	Tensor
	offset uint64
	size   uint64
}

func parseInfos(c *cursor, f *File, n int) ([]info, error) {
	infos := make([]info, 0, min(n, mostReserved))
	f.index = make(map[string]int, min(n, mostReserved))
	for i := range n {
		name, err := c.str("name")
		if err != nil {
			return nil, fmt.Errorf("tensor %d of %d: %w", i+1, n, err)
		}
		t := info{Tensor: Tensor{Name: string(name)}}
		if _, dup := f.index[t.Name]; dup {
			return nil, fmt.Errorf("tensor %q is there twice", t.Name)
		}
		if err := parseInfo(c, f, &t); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		f.index[t.Name] = i
		infos = append(infos, t)
	}
	return infos, nil
}

func parseInfo(c *cursor, f *File, t *info) error {
	nd, err := c.u32("dimension count")
	if err != nil {
		return err
	}
	if nd < 1 || nd > maxDims {
		return fmt.Errorf("it has %d dimensions (1 to %d are allowed)", nd, maxDims)
	}
	raw, err := c.take(uint64(nd)*8, "dimensions")
	if err != nil {
		return err
	}
	t.Dims = make([]int, nd)
	values := uint64(1)
	for i := range t.Dims {
		d := binary.LittleEndian.Uint64(raw[i*8:])
		hi, lo := bits.Mul64(values, d)
		if d == 0 || hi != 0 || lo > math.MaxInt {
			return fmt.Errorf("dimension %d is %d: the number of values must be from 1 to 2^63-1", i, d)
		}
		t.Dims[i], values = int(d), lo
	}
	ty, err := c.u32("type")
	if err != nil {
		return err
	}
	t.Type = Type(ty)
	if t.size, err = tensorBytes(t.Type, t.Dims[0], values); err != nil {
		return err
	}
	if t.offset, err = c.u64("offset"); err != nil {
		return err
	}
	if t.offset%uint64(f.alignment) != 0 {
		return fmt.Errorf("its offset %d is not a multiple of the alignment %d", t.offset, f.alignment)
	}
	return nil
}

// tensorBytes returns the size of a tensor with rows of cols values each.
func tensorBytes(t Type, cols int, values uint64) (uint64, error) {
	l := t.layout()
	if l.block == 0 {
		return 0, fmt.Errorf("type %s is not supported (supported: %s)", strings.TrimPrefix(t.String(), "type "), supportedTypes())
	}
	if cols%l.block != 0 {
		return 0, fmt.Errorf("rows of %d values are not a multiple of the %d in a block of %v", cols, l.block, t)
	}
	hi, size := bits.Mul64(values/uint64(l.block), uint64(l.bytes))
	if hi != 0 || size > math.MaxInt {
		return 0, fmt.Errorf("%d values of %v overflow the size of a file", values, t)
	}
	return size, nil
}

// placeTensors locates the tensors' bytes after the descriptions, and checks that they lie in the
// file and do not overlap.
func placeTensors(c *cursor, f *File, infos []info) error {
	f.tensors = make([]Tensor, len(infos))
	if len(infos) == 0 {
		return nil
	}
	start := uint64(c.at) + uint64(f.alignment-1)
	start -= start % uint64(f.alignment)
	end := uint64(len(c.data))
	for i, t := range infos {
		lo := start + t.offset
		if t.offset > end || lo > end || t.size > end-lo {
			return fmt.Errorf("tensor %q: its %d bytes at offset %d of the data run past the end of the file (%d bytes): the file is truncated or damaged", t.Name, t.size, t.offset, end)
		}
		t.Data = c.data[lo : lo+t.size : lo+t.size]
		f.tensors[i] = t.Tensor
	}
	slices.SortFunc(infos, func(a, b info) int {
		switch {
		case a.offset < b.offset:
			return -1
		case a.offset > b.offset:
			return 1
		}
		return 0
	})
	for i := 1; i < len(infos); i++ {
		a, b := infos[i-1], infos[i]
		if a.offset+a.size > b.offset {
			return fmt.Errorf("tensors %q and %q overlap in the file", a.Name, b.Name)
		}
	}
	return nil
}
