package sandbox

import (
	"fmt"
	"io"
	"sync"
)

// Output holds what a command wrote to one stream: all of it, or its head and tail.
type Output struct {
	// Head is the beginning, or everything if nothing was left out.
	Head []byte
	// Tail is the end, empty if nothing was left out.
	Tail []byte
	// Total is the number of bytes written.
	Total int64
	// Spilled is the number of bytes given to the spill writer.
	Spilled int64
	// SpillErr is the first error of the spill writer.
	SpillErr error
}

// Omitted is the number of bytes between Head and Tail that are not in memory.
func (o Output) Omitted() int64 { return o.Total - int64(len(o.Head)) - int64(len(o.Tail)) }

// Bytes returns the output, with a line in place of an omitted middle.
func (o Output) Bytes() []byte { return []byte(o.String()) }

// String returns the output, with a line in place of an omitted middle.
func (o Output) String() string {
	if n := o.Omitted(); n > 0 {
		return fmt.Sprintf("%s\n[... %d bytes omitted ...]\n%s", o.Head, n, o.Tail)
	}
	return string(o.Head) + string(o.Tail)
}

// capture keeps the head and the tail of a stream in bounded memory. Until the limit is reached
// everything is in head; then head is split into two halves, and the second becomes a ring buffer.
type capture struct {
	mu       sync.Mutex
	limit    int
	head     []byte
	ring     []byte
	next     int // index of the ring's oldest byte, once it is full
	total    int64
	spill    io.Writer
	spilled  int64
	spillErr error
}

func newCapture(limit int, spill io.Writer) *capture {
	if limit == 0 {
		limit = DefaultLimit
	}
	return &capture{limit: max(limit, 0), spill: spill}
}

// write accepts all of p; it never fails.
func (c *capture) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := c.total+int64(len(p)) > int64(c.limit)
	if over {
		if c.total <= int64(c.limit) { // the stream now exceeds its limit
			c.toSpill(c.head)
		}
		c.toSpill(p)
	}
	c.total += int64(len(p))
	if c.ring == nil {
		if !over {
			c.head = append(c.head, p...)
			return
		}
		p = c.split(p)
	}
	c.toRing(p)
}

// split splits a full head into head and ring, and returns the rest of p.
func (c *capture) split(p []byte) []byte {
	n := min(c.limit-len(c.head), len(p))
	c.head = append(c.head, p[:n]...)
	half := (c.limit + 1) / 2
	c.ring = append(make([]byte, 0, c.limit-half), c.head[half:]...)
	c.head = append(make([]byte, 0, half), c.head[:half]...)
	return p[n:]
}

func (c *capture) toRing(p []byte) {
	size := cap(c.ring)
	if size == 0 {
		return
	}
	if len(p) >= size {
		c.ring, c.next = append(c.ring[:0], p[len(p)-size:]...), 0
		return
	}
	if room := size - len(c.ring); room > 0 {
		n := min(room, len(p))
		c.ring, p = append(c.ring, p[:n]...), p[n:]
	}
	for len(p) > 0 {
		n := copy(c.ring[c.next:], p)
		c.next, p = (c.next+n)%size, p[n:]
	}
}

func (c *capture) toSpill(p []byte) {
	if c.spill == nil || c.spillErr != nil || len(p) == 0 {
		return
	}
	n, err := c.spill.Write(p)
	c.spilled += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	c.spillErr = err
}

// output returns a copy of what was captured so far.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := Output{Total: c.total, Spilled: c.spilled, SpillErr: c.spillErr}
	o.Head = append([]byte(nil), c.head...)
	if len(c.ring) > 0 {
		o.Tail = append(append(make([]byte, 0, len(c.ring)), c.ring[c.next:]...), c.ring[:c.next]...)
	}
	return o
}
