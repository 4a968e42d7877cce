package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The file format; all numbers are little-endian, and every part is padded with zeros to a multiple
// of 64 bytes:
//
//	header   magic, version, dim, length of the model's name, checksum of all these and of the name; the name is at offset 64
//	block    head (64 bytes) and body; repeated
//
// The body of a block of n rows:
//
//	table    n keys (16 bytes), n pairs of scale and slip (two float32), n checksums of exact rows
//	rounded  n rows of stride bytes, signed numbers
//	exact    n rows of dim float32
//
// The body of a block of n deleted keys is a table with only the keys.
const (
	fileMagic  = "LUTHVEC\n"
	version    = 1
	blockMagic = "VBLK"
	headSize   = 64
	maxName    = 1 << 12
	maxRows    = 1 << 16 // of a block
)

const (
	kindRows = 1
	kindDead = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func pad(n int64) int64 { return (n + 63) &^ 63 }

// header is the beginning of the file.
type header struct {
	model string
	dim   int
}

func (h header) size() int64 { return headSize + pad(int64(len(h.model))) }

func (h header) encode() []byte {
	b := make([]byte, h.size())
	copy(b, fileMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], uint32(h.dim))
	binary.LittleEndian.PutUint32(b[16:], uint32(len(h.model)))
	copy(b[headSize:], h.model)
	binary.LittleEndian.PutUint32(b[20:], h.sum(b))
	return b
}

func (h header) sum(b []byte) uint32 {
	return crc32.Update(checksum(b[:20]), castagnoli, b[headSize:headSize+len(h.model)])
}

func parseHeader(data []byte) (h header, err error) {
	if len(data) < headSize || string(data[:8]) != fileMagic {
		return h, errors.New("it is no file of vectors")
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != version {
		return h, fmt.Errorf("it has version %d, this program knows %d", v, version)
	}
	n := binary.LittleEndian.Uint32(data[16:])
	if n > maxName || int64(len(data)) < headSize+pad(int64(n)) {
		return h, errors.New("its header is cut off or damaged")
	}
	h.model = string(data[headSize : headSize+n])
	if h.sum(data) != binary.LittleEndian.Uint32(data[20:]) {
		return h, errors.New("its header is damaged")
	}
	dim := binary.LittleEndian.Uint32(data[12:])
	if dim < 1 || dim > MaxDim {
		return h, fmt.Errorf("its vectors have %d components, which is not supported", dim)
	}
	h.dim = int(dim)
	return h, nil
}

// blockSize returns the size of a block including its head.
func blockSize(kind, n, dim int) int64 {
	rows := int64(n)
	if kind == kindDead {
		return headSize + pad(16*rows)
	}
	return headSize + pad(28*rows) + pad(rows*int64(strideOf(dim))) + pad(4*rows*int64(dim))
}

// block holds some rows, or some deleted keys.
type block struct {
	off  int64 // in the file
	size int64
	kind int
	n    int

	keys, scales, sums []byte
	rounded, exact     []byte
	sum                uint32 // checksum of rounded
	state              soundness
}

// bind sets the parts of a block to slices of data, which must be long enough.
func (b *block) bind(data []byte, dim int) {
	n, at := int64(b.n), int64(headSize)
	part := func(size int64) []byte {
		p := data[at : at+size : at+size]
		at += size
		return p
	}
	b.keys = part(16 * n)
	if b.kind == kindDead {
		return
	}
	b.scales, b.sums = part(8*n), part(4*n)
	at = pad(at)
	b.rounded = part(n * int64(strideOf(dim)))
	at = pad(at)
	b.exact = part(4 * n * int64(dim))
}

// key returns the key of row i.
func (b *block) key(i int) Key { return Key(b.keys[16*i : 16*i+16]) }

// exactRow returns the bytes of a row as float32, or nil if they are damaged.
func (b *block) exactRow(i, dim int) []byte {
	row := b.exact[4*dim*i : 4*dim*(i+1)]
	if checksum(row) != binary.LittleEndian.Uint32(b.sums[4*i:]) {
		return nil
	}
	return row
}

// table returns the parts of the body that are verified when the file is opened.
func (b *block) table(data []byte) []byte {
	if b.kind == kindDead {
		return data[headSize : headSize+16*b.n]
	}
	return data[headSize : headSize+28*b.n]
}

// seal writes the head of a block whose body is in place.
func (b *block) seal(data []byte) {
	copy(data, blockMagic)
	put := binary.LittleEndian.PutUint32
	put(data[4:], uint32(b.kind))
	put(data[8:], uint32(b.n))
	put(data[16:], checksum(b.table(data)))
	b.sum = checksum(b.rounded)
	put(data[20:], b.sum)
	put(data[60:], checksum(data[:60]))
}

// parseHead parses the head of a block at the beginning of data. It returns nil if there is none or
// the block does not fit.
func parseHead(data []byte, dim int) *block {
	if len(data) < headSize || string(data[:4]) != blockMagic || checksum(data[:60]) != binary.LittleEndian.Uint32(data[60:]) {
		return nil
	}
	kind, n := binary.LittleEndian.Uint32(data[4:]), binary.LittleEndian.Uint32(data[8:])
	if kind != kindRows && kind != kindDead || n < 1 || n > maxRows {
		return nil
	}
	b := &block{kind: int(kind), n: int(n), size: blockSize(int(kind), int(n), dim)}
	if b.size > int64(len(data)) {
		return nil
	}
	return b
}

// parseBody sets the parts of a block if its table is intact. It does not read the rounded and
// exact rows.
func (b *block) parseBody(data []byte, dim int) bool {
	if checksum(b.table(data)) != binary.LittleEndian.Uint32(data[16:]) {
		return false
	}
	b.bind(data, dim)
	b.sum = binary.LittleEndian.Uint32(data[20:])
	return true
}

// maxDamaged is the number of damaged tables at which the rest of a file is abandoned: a malicious
// file could have so many that reading them all would take hours.
const maxDamaged = 64

// parseBlocks parses the blocks that start at off or later. The result end is the end of the last
// complete block, and lost is the number of bytes that belong to no block.
func parseBlocks(data []byte, off int64, dim int) (blocks []*block, end, lost int64) {
	end = off
	for damaged := 0; off < int64(len(data)) && damaged < maxDamaged; {
		b := parseHead(data[off:], dim)
		if b != nil && !b.parseBody(data[off:], dim) {
			damaged++
			b = nil
		}
		if b == nil {
			next := bytes.Index(data[off+1:], []byte(blockMagic))
			if next < 0 {
				break
			}
			off += 1 + int64(next)
			continue
		}
		lost += off - end
		b.off = off
		off += b.size
		end = off
		blocks = append(blocks, b)
	}
	// After a crash of the system, the last block may have the right size although its contents
	// never reached the disk.
	for len(blocks) > 0 {
		last := blocks[len(blocks)-1]
		if last.whole(dim) {
			break
		}
		blocks, end = blocks[:len(blocks)-1], last.off
	}
	return blocks, end, lost
}

// whole reports whether all checksums of the block's rows are correct.
func (b *block) whole(dim int) bool {
	if b.kind == kindDead {
		return true
	}
	for i := range b.n {
		if b.exactRow(i, dim) == nil {
			return false
		}
	}
	return b.sound()
}

// encodeRows makes a block of rows, which must have length 1.
func encodeRows(keys []Key, rows [][]float32, dim int) (*block, []byte) {
	b := &block{kind: kindRows, n: len(keys), size: blockSize(kindRows, len(keys), dim)}
	data := make([]byte, b.size)
	b.bind(data, dim)
	stride := strideOf(dim)
	for i, v := range rows {
		copy(b.keys[16*i:], keys[i][:])
		scale, slip := roundRow(b.rounded[i*stride:], v)
		putFloat(b.scales[8*i:], scale)
		putFloat(b.scales[8*i+4:], slip)
		exact := b.exact[4*dim*i : 4*dim*(i+1)]
		for j, x := range v {
			putFloat(exact[4*j:], x)
		}
		binary.LittleEndian.PutUint32(b.sums[4*i:], checksum(exact))
	}
	b.seal(data)
	return b, data
}

// encodeDead makes a block of deleted keys.
func encodeDead(keys []Key) (*block, []byte) {
	b := &block{kind: kindDead, n: len(keys), size: blockSize(kindDead, len(keys), 0)}
	data := make([]byte, b.size)
	b.bind(data, 0)
	for i, k := range keys {
		copy(b.keys[16*i:], k[:])
	}
	b.seal(data)
	return b, data
}
