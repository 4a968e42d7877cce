package gitfs

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// Whoever writes a repository may make small files that need much memory. go-git checks the objects
// of packs; the index, loose objects and the size of objects are checked here.
const (
	maxFile     = 512 << 20 // bytes of a file that go-git reads as a whole: all but packs
	maxIndex    = 128 << 20 // bytes of the index, and of all paths in it
	maxObject   = 32 << 20  // bytes of an object that is read
	maxLoose    = 64 << 20  // bytes of a loose object on disk
	smallObject = 64 << 10  // a loose object of this size on disk has at most about 64 MiB
)

// bounded returns an open file as go-git reads it. What needs a check is read into memory first, so
// that it cannot change between the check and its use.
func bounded(f *rootFile, name string, size int64) (billy.File, error) {
	name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
	var check func([]byte) error
	limit := int64(maxFile)
	switch {
	case name == "index":
		check, limit = checkIndex, maxIndex
	case isLoose(name) && size > smallObject:
		check, limit = checkLoose, maxLoose
	case path.Ext(name) == ".pack":
		return f, nil
	}
	if size > limit {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: it has more than %d bytes", regular.ErrTooLarge, limit)}
	}
	if check == nil {
		return f, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err == nil {
		err = check(data)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return &memory{bytes.NewReader(data), f.name}, nil
}

// isLoose reports whether a path in a git directory is that of a loose object.
func isLoose(name string) bool {
	rest, ok := strings.CutPrefix(name, "objects/")
	return ok && len(rest) > 3 && rest[2] == '/'
}

// memory is a file whose content is in memory.
type memory struct {
	*bytes.Reader
	name string
}

func (m *memory) Name() string            { return m.name }
func (*memory) Write([]byte) (int, error) { return 0, billy.ErrReadOnly }
func (*memory) Truncate(int64) error      { return billy.ErrReadOnly }
func (*memory) Close() error              { return nil }
func (*memory) Lock() error               { return nil }
func (*memory) Unlock() error             { return nil }

var errPaths = fmt.Errorf("%w: its paths have more than %d bytes", regular.ErrTooLarge, maxIndex)

// checkIndex returns an error if the paths of an index need too much memory: in version 4 each is
// stored as what differs from the one before, so that a million of them may have gigabytes. See
// gitformat-index(5). An index that is malformed otherwise is left to go-git.
func checkIndex(data []byte) error {
	const head, entry, extended = 12, 62, 0x4000
	if len(data) < head || string(data[:4]) != "DIRC" || binary.BigEndian.Uint32(data[4:]) != 4 {
		return nil
	}
	data = data[head:]
	last, total := 0, 0
	for len(data) > entry {
		flags := binary.BigEndian.Uint16(data[entry-2:])
		data = data[entry:]
		if flags&extended != 0 && len(data) >= 2 {
			data = data[2:]
		}
		strip, n := offset(data)
		end := bytes.IndexByte(data[n:], 0)
		if n == 0 || end < 0 || strip > last {
			return nil
		}
		last += end - strip
		if total += last; total > maxIndex {
			return errPaths
		}
		data = data[n+end+1:]
	}
	return nil
}

// offset reads a number in the encoding of OFS_DELTA offsets, and returns its length, or 0 if it is
// malformed.
func offset(data []byte) (v, n int) {
	for i, b := range data[:min(len(data), 5)] {
		if i > 0 {
			v++
		}
		v = v<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// checkLoose returns an error unless a loose object has the size that it says, which go-git does
// not check.
func checkLoose(data []byte) error {
	malformed := errors.New("malformed object")
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return malformed
	}
	r := bufio.NewReader(z)
	head, err := r.ReadSlice(0)
	if err != nil {
		return malformed
	}
	_, text, _ := strings.Cut(string(head[:len(head)-1]), " ")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return malformed
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r, size+1)); err != nil || n != size {
		return malformed
	}
	return nil
}

// objects refuses to read objects that are too large.
type objects struct{ storage.Storer }

func (s objects) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	o, err := s.Storer.EncodedObject(t, h)
	if err != nil || o.Size() <= maxObject {
		return o, err
	}
	return &largeObject{o}, nil
}

// largeObject is an object whose size is known and that is not read.
type largeObject struct{ plumbing.EncodedObject }

func (o *largeObject) Reader() (io.ReadCloser, error) {
	return nil, fmt.Errorf("object %s: %w: it has %d bytes", o.Hash(), regular.ErrTooLarge, o.Size())
}
