package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
)

// A Reader reads a file example by example.
type Reader struct {
	Vocab int // every token is less than this
	Count int // number of examples

	name string
	in   *bufio.Reader
	file io.Closer
	left int64 // bytes of the file not read yet
	crc  uint32
	want uint32
	read int // number of examples read
	buf  []byte
}

// Open opens a file for reading. It must be closed.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: open: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	var r *Reader
	if err == nil {
		r, err = newReader(path, f, info.Size())
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: open: %w", errors.Join(err, f.Close()))
	}
	r.file = f
	return r, nil
}

// newReader reads the header of a file of size bytes.
func newReader(name string, in io.Reader, size int64) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 1<<18), left: size - headerSize}
	var h [headerSize]byte
	if _, err := io.ReadFull(r.in, h[:]); err != nil || string(h[:8]) != magic {
		return nil, fmt.Errorf("%s is not a file of training examples: it does not start with %q", name, magic)
	}
	vocab, count := binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint64(h[16:])
	if vocab < 1 || vocab > maxVocab {
		return nil, fmt.Errorf("%s: a vocabulary of %d; it must have 1 to %d tokens", name, vocab, maxVocab)
	}
	if count > uint64(r.left)/(recordSize+3) {
		return nil, fmt.Errorf("%s: %d examples do not fit the file's %d bytes; it is cut short", name, count, size)
	}
	r.Vocab, r.Count, r.want = int(vocab), int(count), binary.LittleEndian.Uint32(h[12:])
	return r, nil
}

// Next reads the next example. It returns io.EOF after the last one. The caller owns the example.
// At the end the file's checksum is compared, so a file that was read without an error up to io.EOF
// is intact.
func (r *Reader) Next() (Example, error) {
	if r.read == r.Count {
		return Example{}, r.end()
	}
	e, err := r.record()
	if err != nil {
		return Example{}, fmt.Errorf("dataset: read %s: example %d of %d: %w", r.name, r.read, r.Count, err)
	}
	r.read++
	return e, nil
}

// end returns io.EOF if the file ends correctly.
func (r *Reader) end() error {
	if r.left != 0 {
		return fmt.Errorf("dataset: read %s: %d bytes behind the last example", r.name, r.left)
	}
	if r.crc != r.want {
		return fmt.Errorf("dataset: read %s: the checksum is %08x, not %08x: the file was damaged", r.name, r.crc, r.want)
	}
	return io.EOF
}

func (r *Reader) record() (Example, error) {
	h, err := r.take(recordSize)
	if err != nil {
		return Example{}, err
	}
	n, kind := binary.LittleEndian.Uint32(h), h[4]
	if n < 1 || n > maxTokens {
		return Example{}, fmt.Errorf("%d tokens; there must be 1 to %d", n, maxTokens)
	}
	b, err := r.take(3 * int(n))
	if err != nil {
		return Example{}, err
	}
	e := Example{Kind: kind, Tokens: make([]uint16, n), Weights: bytes.Clone(b[2*n:])}
	for i := range e.Tokens {
		e.Tokens[i] = binary.LittleEndian.Uint16(b[2*i:])
		if int(e.Tokens[i]) >= r.Vocab {
			return Example{}, fmt.Errorf("token %d is %d, beyond the vocabulary of %d", i, e.Tokens[i], r.Vocab)
		}
	}
	return e, nil
}

// take reads n bytes, which stay valid until the next take. It never allocates more than the size
// of the file.
func (r *Reader) take(n int) ([]byte, error) {
	if int64(n) > r.left {
		return nil, fmt.Errorf("%d bytes wanted, %d left: the file is cut short", n, r.left)
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, err
	}
	r.left -= int64(n)
	r.crc = crc32.Update(r.crc, crc32.IEEETable, b)
	return b, nil
}

// All yields the examples that Next has not returned yet. It ends after an error.
func (r *Reader) All() iter.Seq2[Example, error] {
	return func(yield func(Example, error) bool) {
		for {
			e, err := r.Next()
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Load reads a whole file.
func Load(path string) (*Set, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	s, err := r.set()
	return s, errors.Join(err, r.Close())
}

// Parse reads a file in memory. For any data, it returns a Set whose tokens are all less than its
// Vocab, or an error.
func Parse(data []byte) (*Set, error) {
	r, err := newReader("data", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("dataset: parse: %w", err)
	}
	return r.set()
}

func (r *Reader) set() (*Set, error) {
	s := &Set{Vocab: r.Vocab, Examples: make([]Example, 0, r.Count)}
	for e, err := range r.All() {
		if err != nil {
			return nil, err
		}
		s.Examples = append(s.Examples, e)
	}
	return s, nil
}
