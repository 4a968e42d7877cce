package checkpoint

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// packFrom is the smallest number of new files that are written into one pack instead of one file
// each, which is several times as fast.
const packFrom = 100

// A packer writes objects into one git pack. Workers compress concurrently and append in turn.
type packer struct {
	f    *os.File
	mu   sync.Mutex
	seen map[plumbing.Hash]bool
	off  uint64
	idx  idxfile.Writer
	zips sync.Pool // of *zlib.Writer, which are large
}

// packHeader returns the header of a pack; the count is filled in at the end.
func packHeader(count uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
}

func (s *Store) newPacker() (*packer, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "objects", "pack"), tempPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("checkpoint: write pack: %w", err)
	}
	p := &packer{f: f, seen: map[plumbing.Hash]bool{}, off: 12}
	if _, err := f.Write(packHeader(0)); err != nil {
		p.discard()
		return nil, fmt.Errorf("checkpoint: write pack: %w", err)
	}
	return p, nil
}

// has reports whether h is in the pack.
func (p *packer) has(h plumbing.Hash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[h]
}

func (p *packer) add(t plumbing.ObjectType, h plumbing.Hash, content []byte) error {
	var b bytes.Buffer
	n := len(content)
	head := byte(t)<<4 | byte(n&15)
	for n >>= 4; n > 0; n >>= 7 {
		b.WriteByte(head | 0x80)
		head = byte(n & 0x7f)
	}
	b.WriteByte(head)
	w, _ := p.zips.Get().(*zlib.Writer)
	if w == nil {
		w, _ = zlib.NewWriterLevel(&b, zlib.BestSpeed) // the error is nil: the level is valid
	} else {
		w.Reset(&b)
	}
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("checkpoint: write pack: %w", err)
	}
	p.zips.Put(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[h] {
		return nil
	}
	if _, err := p.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("checkpoint: write pack: %w", err)
	}
	p.idx.Add(h, p.off, crc32.ChecksumIEEE(b.Bytes()))
	p.off += uint64(b.Len())
	p.seen[h] = true
	return nil
}

// finish completes the pack. Its objects can be read as soon as its index has its final name.
func (p *packer) finish(dir string) error {
	sum, err := p.seal()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "objects", "pack", "pack-"+sum.String())
	idx, err := os.CreateTemp(filepath.Dir(name), tempPrefix+"*")
	if err != nil {
		return err
	}
	err = p.idx.OnFooter(sum)
	if err == nil {
		var m *idxfile.MemoryIndex
		if m, err = p.idx.Index(); err == nil {
			_, err = idxfile.NewEncoder(idx).Encode(m)
		}
	}
	if err = errors.Join(err, idx.Chmod(0o444), idx.Close()); err == nil {
		err = os.Rename(p.f.Name(), name+".pack")
	}
	if err == nil {
		err = os.Rename(idx.Name(), name+".idx")
	}
	if err != nil {
		os.Remove(idx.Name())
	}
	return err
}

// seal fills in the count and appends the checksum.
func (p *packer) seal() (sum plumbing.Hash, err error) {
	if _, err = p.f.WriteAt(packHeader(uint32(len(p.seen))), 0); err != nil {
		return sum, err
	}
	if _, err = p.f.Seek(0, io.SeekStart); err != nil {
		return sum, err
	}
	h := sha1.New()
	if _, err = io.Copy(h, p.f); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	_, err = p.f.Write(sum[:])
	return sum, errors.Join(err, p.f.Chmod(0o444), p.f.Close())
}

func (p *packer) discard() {
	p.f.Close()
	os.Remove(p.f.Name())
}

// flush makes the packed objects readable.
func (s *Store) flush() error {
	p := s.pack
	if p == nil {
		return nil
	}
	s.pack = nil
	if len(p.seen) == 0 {
		p.discard()
		return nil
	}
	if err := p.finish(s.dir); err != nil {
		p.discard()
		return fmt.Errorf("checkpoint: write pack: %w", err)
	}
	s.repo.Reindex()
	s.packed = true
	return nil
}
