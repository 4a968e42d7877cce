package gguf

import (
	"encoding/binary"
	"fmt"
)

// maxDepth limits how deep arrays of arrays may nest. No known file has nested arrays.
const maxDepth = 4

// cursor walks a file's bytes. All its methods check how many bytes are left before they read them.
type cursor struct {
	data []byte
	at   int
}

func (c *cursor) left() int { return len(c.data) - c.at }

// take advances over n bytes. If they are missing, the error message calls them by the name what.
func (c *cursor) take(n uint64, what string) ([]byte, error) {
	if n > uint64(c.left()) {
		return nil, fmt.Errorf("%s of %d bytes at offset %d runs past the end of the file (%d bytes): the file is truncated or damaged", what, n, c.at, len(c.data))
	}
	b := c.data[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b, nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// str reads a length and that many bytes, as a view of the file.
func (c *cursor) str(what string) ([]byte, error) {
	n, err := c.u64(what)
	if err != nil {
		return nil, err
	}
	return c.take(n, what)
}

// count reads the number of elements of at least size bytes each. It refuses a number of elements
// that do not fit into the remaining bytes.
func (c *cursor) count(size int, what string) (int, error) {
	n, err := c.u64(what)
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left()/size) {
		return 0, fmt.Errorf("%s is %d, more than the remaining %d bytes can hold", what, n, c.left())
	}
	return int(n), nil
}

// value reads a metadata value of kind k. The slices in it are views of the file.
func (c *cursor) value(k Kind, depth int) (value, error) {
	start := c.at
	v := value{kind: k}
	var err error
	switch {
	case int64(k) >= int64(len(kindSizes)):
		return v, fmt.Errorf("value kind %d at offset %d is not known (0 to %d are)", uint32(k), start-4, len(kindSizes)-1)
	case k == KindString:
		_, err = c.str("string")
	case k == KindArray:
		err = c.array(&v, depth)
	default:
		_, err = c.take(uint64(kindSizes[k]), k.String())
	}
	v.raw = c.data[start:c.at:c.at]
	return v, err
}

// array reads the rest of an array into v: the kind and number of its elements. The elements
// themselves are skipped.
func (c *cursor) array(v *value, depth int) error {
	if depth >= maxDepth {
		return fmt.Errorf("arrays nest deeper than %d at offset %d", maxDepth, c.at)
	}
	e, err := c.u32("array element kind")
	if err != nil {
		return err
	}
	v.elem = Kind(e)
	if int64(e) >= int64(len(kindSizes)) {
		return fmt.Errorf("array element kind %d at offset %d is not known (0 to %d are)", e, c.at-4, len(kindSizes)-1)
	}
	size := kindSizes[e]
	least := size
	switch v.elem {
	case KindString:
		least = 8
	case KindArray:
		least = 12
	}
	if v.count, err = c.count(least, "array length"); err != nil {
		return err
	}
	start := c.at
	if size > 0 {
		c.at += v.count * size // count has checked that this fits
	}
	for i := 0; size == 0 && i < v.count; i++ {
		if v.elem == KindString {
			_, err = c.str("array string")
		} else {
			err = c.array(&value{}, depth+1)
		}
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	v.body = c.data[start:c.at:c.at]
	return nil
}
