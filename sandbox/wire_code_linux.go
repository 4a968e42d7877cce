package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"os"
	"sync"
	"syscall"
)

// Requests are encoded by hand rather than by gob, which repeats its type descriptions in every
// frame: starting a command takes a millisecond, and that was a tenth of it. Fields come in their
// order in the struct; numbers are varints, a string is its length and its bytes, a list is its
// length and its strings.

func (r *request) encode() []byte {
	size := 64 + len(r.Op) + len(r.Dir)
	for _, list := range [][]string{r.Args, r.Env} {
		for _, s := range list {
			size += binary.MaxVarintLen32 + len(s)
		}
	}
	b := make([]byte, 0, size)
	b = binary.AppendUvarint(b, r.ID)
	b = binary.AppendUvarint(b, r.Seq)
	b = appendString(b, r.Op)
	b = appendStrings(b, r.Args)
	b = appendString(b, r.Dir)
	b = appendStrings(b, r.Env)
	return binary.AppendUvarint(b, uint64(r.Signal))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// errFrame means that a frame does not have this version's format.
var errFrame = errors.New("control frame is malformed")

// decode replaces r by the request encoded in b.
func (r *request) decode(b []byte) error {
	d := frameReader{rest: b}
	*r = request{ID: d.number(), Seq: d.number(), Op: d.text(), Args: d.list(), Dir: d.text(), Env: d.list(), Signal: syscall.Signal(d.number())}
	if d.bad || len(d.rest) > 0 {
		return errFrame
	}
	return nil
}

// frameReader reads the parts of a frame; after the first error it returns only zero values.
type frameReader struct {
	rest []byte
	bad  bool
}

func (d *frameReader) number() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *frameReader) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

func (d *frameReader) list() []string {
	n := d.number()
	if n > uint64(len(d.rest)) { // every string takes at least one byte
		d.bad, d.rest = true, nil
	}
	if d.bad || n == 0 {
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, d.text())
	}
	return out
}

// gobStream lets the frames of one connection share their type descriptions. Both
// ends must use it, for all but requests.
type gobStream struct {
	out, in struct {
		mu  sync.Mutex
		buf bytes.Buffer
	}
	enc *gob.Encoder
	dec *gob.Decoder
}

// shareTypes turns type sharing on for c.
func (c *conn) shareTypes() {
	s := &gobStream{}
	s.enc, s.dec = gob.NewEncoder(&s.out.buf), gob.NewDecoder(&s.in.buf)
	c.types = s
}

// tell sends v. It holds the lock until v is sent: a type's description must arrive before its
// first use.
func (s *gobStream) tell(c *conn, v any, files []*os.File) error {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.buf.Reset()
	if err := s.enc.Encode(v); err != nil {
		return err
	}
	return c.send(s.out.buf.Bytes(), files)
}

// hear decodes a frame.
func (s *gobStream) hear(body []byte, v any) error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.in.buf.Reset()
	s.in.buf.Write(body)
	return s.dec.Decode(v)
}
