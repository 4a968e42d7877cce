// Package sse reads server-sent events, the stream format that model providers answer in.
//
// It follows the WHATWG HTML standard, section "Interpreting an event stream", with two differences that servers in the
// field need: an event whose last line is complete is delivered even when the stream ends without the blank line, and
// one event may be as long as the caller allows instead of a fixed line limit. Memory is bounded by that limit; time is
// linear in the bytes read.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Event is one event of a stream.
type Event struct {
	Type string // the "event" field, or "" when the server sent none
	Data []byte // the "data" lines joined by newlines; valid until the next call of [Reader.Next]
}

// ErrTooLong says that an event is longer than the reader's limit.
var ErrTooLong = errors.New("event is too long")

// Reader splits a byte stream into events.
type Reader struct {
	src    io.Reader
	max    int
	buf    []byte // bytes read and not yet consumed are buf[start:end]
	start  int
	end    int
	err    error // what the source returned last
	skipLF bool  // the last line ended with CR: a following LF belongs to it
	begun  bool  // the byte order mark was looked for
	data   []byte
	typ    string
}

const firstBuffer = 16 << 10

// NewReader returns a reader of the events in src. A single line, and the data of a single event, may be at most max
// bytes long.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max, buf: make([]byte, min(firstBuffer, max+2))}
}

// Next returns the next event that has data. At the end of the stream it returns [io.EOF]; an error of the source is
// returned as it is. After an error every further call returns the same error.
func (r *Reader) Next() (Event, error) {
	r.data, r.typ = r.data[:0], ""
	hasData := false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && hasData {
				return r.event(), nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if hasData {
				return r.event(), nil
			}
			r.typ = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			r.typ = eventType(value)
		case "data":
			if len(r.data)+len(value)+1 > r.max {
				return Event{}, r.fail(fmt.Errorf("sse: read event: %w (limit %d bytes)", ErrTooLong, r.max))
			}
			r.data = append(append(r.data, value...), '\n')
			hasData = true
		}
	}
}

// event returns the collected event without the newline after its last data line.
func (r *Reader) event() Event { return Event{Type: r.typ, Data: r.data[:len(r.data)-1]} }

// eventType returns value as a string, without allocating for the names every provider sends.
func eventType(value []byte) string {
	switch string(value) {
	case "content_block_delta":
		return "content_block_delta"
	case "message":
		return "message"
	case "response.output_text.delta":
		return "response.output_text.delta"
	}
	return string(value)
}

// line returns the next complete line without its end. A last line that the stream cuts short is not returned.
func (r *Reader) line() ([]byte, error) {
	seen := 0 // bytes of the pending line known to hold no line end
	for {
		if r.skip() {
			seen = 0
		}
		pending := r.buf[r.start:r.end]
		if i := lineEnd(pending[seen:]); i >= 0 {
			i += seen
			if i > r.max {
				return nil, r.fail(fmt.Errorf("sse: read line: %w (limit %d bytes)", ErrTooLong, r.max))
			}
			r.start += i + 1
			r.skipLF, r.begun = pending[i] == '\r', true
			return pending[:i], nil
		}
		seen = len(pending)
		if r.err != nil {
			return nil, r.err
		}
		if seen > r.max {
			return nil, r.fail(fmt.Errorf("sse: read line: %w (limit %d bytes)", ErrTooLong, r.max))
		}
		r.fill()
	}
}

// skip drops a leading byte order mark and the LF of a CR LF pair once they are in the buffer, and reports whether it
// dropped something.
func (r *Reader) skip() bool {
	pending := r.buf[r.start:r.end]
	if r.skipLF && len(pending) > 0 {
		r.skipLF = false
		if pending[0] == '\n' {
			r.start++
			return true
		}
		return false
	}
	if bom := []byte("\xef\xbb\xbf"); !r.begun && len(pending) >= len(bom) {
		r.begun = true
		if bytes.HasPrefix(pending, bom) {
			r.start += len(bom)
			return true
		}
	}
	return false
}

func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if c := bytes.IndexByte(b, '\r'); c >= 0 {
		return c
	}
	return n
}

// fill makes room and reads once from the source.
func (r *Reader) fill() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), max(r.max+2, len(r.buf)+1)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 { // a source that keeps returning nothing is broken
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// fail makes err the answer of this and every later call.
func (r *Reader) fail(err error) error {
	r.err, r.start, r.end = err, 0, 0
	return err
}
