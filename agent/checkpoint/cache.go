package checkpoint

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A stamp holds the metadata that the file system returns for a file without reading it. As long as
// the stamp stays the same, so does the content.
type stamp struct {
	size, modified, changed int64 // times in nanoseconds
	inode                   uint64
}

func stampOf(fi fs.FileInfo) stamp {
	inode, changed := identity(fi)
	return stamp{size: fi.Size(), modified: fi.ModTime().UnixNano(), changed: changed, inode: inode}
}

// settled reports whether a write after the time look would change the file's stamp. A file system
// with coarse timestamps may assign the same time to two writes in quick succession; round numbers
// reveal a file system that counts in seconds.
func (s stamp) settled(look time.Time) bool {
	last := max(s.modified, s.changed)
	step := 50 * time.Millisecond
	if s.modified%1e9 == 0 && s.changed%1e9 == 0 {
		step = 2 * time.Second
	}
	return last+int64(step) < look.UnixNano()
}

// statCache maps files to their stamps and contents' hashes.
type statCache map[string]cached

type cached struct {
	stat stamp
	hash plumbing.Hash
}

const cacheMagic = "luthier stat-cache 1\n"

// encode writes the cache: the path, stamp and hash of each file, and a checksum at the end.
func (c statCache) encode() []byte {
	b := make([]byte, 0, len(cacheMagic)+len(c)*100)
	b = append(b, cacheMagic...)
	for p, e := range c {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
		for _, v := range []int64{e.stat.size, e.stat.modified, e.stat.changed} {
			b = binary.AppendVarint(b, v)
		}
		b = binary.AppendUvarint(b, e.stat.inode)
		b = append(b, e.hash[:]...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// maxCache limits the size of the cache that is read.
const maxCache = 1 << 30

// readCache reads the cache. It returns an empty cache if the file is missing, truncated or
// damaged: the cache only saves time.
func readCache(file string) statCache {
	data, err := regular.Read(file, maxCache)
	c := statCache{}
	body, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if err != nil || !ok || len(body) < 4 || crc32.ChecksumIEEE(data[:len(data)-4]) != binary.BigEndian.Uint32(data[len(data)-4:]) {
		return c
	}
	r := bytes.NewReader(body[:len(body)-4])
	for r.Len() > 0 {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > uint64(r.Len()) {
			return statCache{}
		}
		p := make([]byte, n)
		r.Read(p)
		var e cached
		e.stat.size, err = binary.ReadVarint(r)
		e.stat.modified, _ = binary.ReadVarint(r)
		e.stat.changed, _ = binary.ReadVarint(r)
		e.stat.inode, _ = binary.ReadUvarint(r)
		if k, _ := r.Read(e.hash[:]); err != nil || k != len(e.hash) {
			return statCache{}
		}
		c[string(p)] = e
	}
	return c
}
