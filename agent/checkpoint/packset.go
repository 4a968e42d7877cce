package checkpoint

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A packSet returns the sizes of packed objects without reading the objects.
type packSet struct {
	packs []openPack
	zr    io.ReadCloser
}

type openPack struct {
	f   *os.File
	idx *idxfile.MemoryIndex
}

// open adds a pack with its index.
func (s *packSet) open(base string) error {
	data, err := regular.Read(base+".idx", maxIndexes)
	if err != nil {
		return err
	}
	idx := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bytes.NewReader(data)).Decode(idx); err != nil {
		return fmt.Errorf("checkpoint: read index of pack: %w", err)
	}
	f, err := regular.Open(base + ".pack")
	if err != nil {
		return err
	}
	s.packs = append(s.packs, openPack{f, idx})
	return nil
}

// Close closes the packs.
func (s *packSet) Close() error {
	var errs []error
	for _, p := range s.packs {
		errs = append(errs, p.f.Close())
	}
	return errors.Join(errs...)
}

// size returns the size of a blob. It reports false if no pack has the blob.
func (s *packSet) size(h plumbing.Hash) (int64, bool) {
	for _, p := range s.packs {
		off, err := p.idx.FindOffset(h)
		if err != nil {
			continue
		}
		n, err := s.sizeAt(p.f, off)
		return n, err == nil
	}
	return 0, false
}

var errPack = errors.New("checkpoint: damaged pack")

// Types of packed objects (gitformat-pack(5)).
const (
	packedBlob     = 3
	packedOffDelta = 6
	packedRefDelta = 7
)

// sizeAt returns the size of the blob whose entry in a pack begins at off.
func (s *packSet) sizeAt(f io.ReaderAt, off int64) (int64, error) {
	var buf [128]byte
	n, err := f.ReadAt(buf[:], off)
	if n == 0 {
		return 0, err
	}
	b := buf[:n]
	kind := b[0] >> 4 & 7
	size, shift, more := int64(b[0]&15), 4, b[0]&0x80 != 0
	for b = b[1:]; more; b = b[1:] {
		if len(b) == 0 || shift > 56 {
			return 0, errPack
		}
		size |= int64(b[0]&0x7f) << shift
		shift += 7
		more = b[0]&0x80 != 0
	}
	switch kind {
	case packedBlob:
		return size, nil
	case packedOffDelta:
		for len(b) > 0 && b[0]&0x80 != 0 {
			b = b[1:]
		}
		b = b[min(1, len(b)):]
	case packedRefDelta:
		b = b[min(20, len(b)):]
	default:
		return 0, errPack
	}
	return s.deltaSize(b)
}

// deltaSize returns the size of what a compressed delta results in, from the delta's beginning.
func (s *packSet) deltaSize(compressed []byte) (int64, error) {
	var err error
	r := bytes.NewReader(compressed)
	if s.zr == nil {
		s.zr, err = zlib.NewReader(r)
	} else {
		err = s.zr.(zlib.Resetter).Reset(r, nil)
	}
	if err != nil {
		s.zr = nil
		return 0, err
	}
	var head [20]byte
	n, err := io.ReadFull(s.zr, head[:])
	if n == 0 {
		return 0, err
	}
	_, k := binary.Uvarint(head[:n]) // the size of the base
	if k <= 0 {
		return 0, errPack
	}
	size, m := binary.Uvarint(head[k:n])
	if m <= 0 || size > maxBorrowed {
		return 0, errPack
	}
	return int64(size), nil
}

// looseSize returns the size of the blob in a loose object's file.
func looseSize(file string) (int64, bool) {
	f, err := regular.Open(file)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	zr, err := zlib.NewReader(f)
	if err != nil {
		return 0, false
	}
	var head [32]byte
	n, _ := io.ReadFull(zr, head[:])
	text, _, ok := strings.Cut(string(head[:n]), "\x00")
	digits, blob := strings.CutPrefix(text, "blob ")
	size, err := strconv.ParseInt(digits, 10, 64)
	return size, ok && blob && err == nil
}
