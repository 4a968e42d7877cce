package transformer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The protocol between a network and a worker that computes experts. All numbers are little-endian
// and 32 bits wide.
//
//	hello     worker → network: magic, width, layers, experts
//	request   magic, layer, jobs, then for each job: expert, rows, rows × width floats
//	answer    magic, 0, the rows of all jobs in order; or magic, length of a message, the message
const (
	shardMagic   = 0x5850584c
	shardMaxJobs = 1 << 14
	shardMaxRows = 1 << 16
	shardMaxText = 1 << 12
)

// wire reads and writes messages; its buffer is reused.
type wire struct {
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

func newWire(rw io.ReadWriter) *wire {
	return &wire{r: bufio.NewReaderSize(rw, 1<<16), w: bufio.NewWriterSize(rw, 1<<16)}
}

func (c *wire) putInts(v ...uint32) {
	for _, x := range v {
		c.buf = binary.LittleEndian.AppendUint32(c.buf[:0], x)
		c.w.Write(c.buf) // Flush reports an error
	}
}

func (c *wire) putFloats(v []float32) {
	c.buf = c.buf[:0]
	for _, x := range v {
		c.buf = binary.LittleEndian.AppendUint32(c.buf, math.Float32bits(x))
	}
	c.w.Write(c.buf)
}

func (c *wire) ints(dst ...*uint32) error {
	for _, d := range dst {
		if err := c.read(4); err != nil {
			return err
		}
		*d = binary.LittleEndian.Uint32(c.buf)
	}
	return nil
}

func (c *wire) floats(dst []float32) error {
	if err := c.read(4 * len(dst)); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(c.buf[4*i:]))
	}
	return nil
}

func (c *wire) read(n int) error {
	c.buf = grow(c.buf, n)
	_, err := io.ReadFull(c.r, c.buf)
	return err
}

// frame reads the magic number that begins every message.
func (c *wire) frame() error {
	var m uint32
	if err := c.ints(&m); err != nil {
		return err
	}
	if m != shardMagic {
		return fmt.Errorf("a message opens with %#x, want %#x: the other side speaks something else", m, shardMagic)
	}
	return nil
}
