// Package wire holds what the backends for HTTP APIs of language models share: server-sent events
// and the arguments of tool calls.
//
// [EventReader] reads server-sent events as the WHATWG HTML standard (section 9.2) defines them:
// lines of any length up to a limit the caller sets, every line ending, comments, a byte-order
// mark, and a last event that the server forgot to end. [Object] converts the arguments of tool
// calls for providers that accept only JSON objects.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Event is one event of a stream. Data is valid until the next call of [EventReader.Next].
type Event struct {
	Name string // the event field; empty means "message"
	Data []byte // the data lines, joined by newlines
	// Partial reports whether the stream ended before the blank line that ends an event, so that
	// the last line may be cut.
	Partial bool
}

// ErrTooLong is the error for an event that exceeds the reader's limit.
var ErrTooLong = errors.New("event is too long")

// EventReader reads the events of one stream.
type EventReader struct {
	r      io.Reader
	max    int
	buf    []byte
	start  int  // first byte not yet returned
	seen   int  // bytes from start on that are known to hold no line end
	skipLF bool // the last line ended in CR: a LF that follows belongs to it
	begun  bool
	err    error // of r, if it failed
	data   []byte
}

// NewEventReader returns a reader of events of up to max bytes; 0 means 64 MiB.
func NewEventReader(r io.Reader, max int) *EventReader {
	if max <= 0 {
		max = 64 << 20
	}
	return &EventReader{r: r, max: max}
}

// Next returns the next event that has data, or the error of the underlying reader, which is io.EOF
// at the end.
func (r *EventReader) Next() (Event, error) {
	var ev Event
	r.data = r.data[:0]
	hasData := false
	for {
		line, err := r.line()
		if err != nil {
			if len(line) > 0 {
				hasData = r.field(&ev, line, hasData) || hasData
			}
			if hasData && err == io.EOF {
				ev.Data, ev.Partial = r.data, true
				return ev, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if hasData {
				ev.Data = r.data
				return ev, nil
			}
			ev = Event{}
			continue
		}
		hasData = r.field(&ev, line, hasData) || hasData
		if len(r.data) > r.max {
			return Event{}, fmt.Errorf("wire: read event: %w: more than %d bytes", ErrTooLong, r.max)
		}
	}
}

// field reads one line into ev and reports whether it was data; more says whether data came before.
func (r *EventReader) field(ev *Event, line []byte, more bool) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if more {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		return true
	case "event":
		ev.Name = string(value)
	}
	return false
}

// line returns the next line without its end. At the end of the stream it returns the rest together
// with the error.
func (r *EventReader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < len(r.buf) {
			r.skipLF = false
			if r.buf[r.start] == '\n' {
				r.start++
			}
		}
		rest := r.buf[r.start:]
		if i := lineEnd(rest[r.seen:]); i >= 0 {
			end := r.seen + i
			r.skipLF = rest[end] == '\r'
			r.start, r.seen = r.start+end+1, 0
			return r.mark(rest[:end]), nil
		}
		r.seen = len(rest)
		if r.err != nil {
			r.start, r.seen = len(r.buf), 0
			return r.mark(rest), r.err
		}
		if len(rest) > r.max {
			return nil, fmt.Errorf("wire: read line: %w: more than %d bytes", ErrTooLong, r.max)
		}
		r.fill()
	}
}

// mark drops the byte-order mark of the first line.
func (r *EventReader) mark(line []byte) []byte {
	if !r.begun {
		r.begun = true
		return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// lineEnd returns the position of the first CR or LF.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more. It moves the unread bytes to the front or grows the buffer as needed.
func (r *EventReader) fill() {
	if r.start > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.start:])]
		r.start = 0
	}
	if cap(r.buf)-len(r.buf) < 1024 {
		grown := make([]byte, len(r.buf), max(8<<10, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 || err != nil {
			r.err = err
			return
		}
	}
	r.err = io.ErrNoProgress
}
