package gitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"
)

// A cache file is a magic followed by frames. Each reading of the log adds frames; nothing is
// changed in place, and a file is replaced as a whole.
//
//	file   = magic frame*
//	frame  = length u32, kind u8, crc32c u32 of kind and payload, payload
//	meta   = hash length, the repository's list of shallow commits
//	batch  = new paths (front-coded), commits
//	words  = tokenizer's key, first commit, new terms, terms of each commit
const (
	magic       = "luthlog\x01"
	frameHeader = 9

	frameMeta  = 1
	frameBatch = 2
	frameWords = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCache means that a cache file is not used.
var errCache = errors.New("the cache file is damaged")

func appendFrame(b []byte, kind byte, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, kind)
	crc := crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
	b = binary.LittleEndian.AppendUint32(b, crc)
	return append(b, payload...)
}

// decodeStore decodes a cache file. The strings of the store share memory with data, which must not
// be changed afterwards. Words made by another tokenizer are left out; the result kept is the file
// without them.
func decodeStore(data []byte, tokenizerKey string) (s *store, kept []byte, err error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("%w: it is none, or of another version", errCache)
	}
	kept = data
	rest := unsafe.String(unsafe.SliceData(data), len(data))[len(magic):]
	for at := len(magic); len(rest) > 0; {
		kind, payload, err := cutFrame(rest)
		if err != nil {
			return nil, nil, err
		}
		size := frameHeader + len(payload)
		rest = rest[size:]
		d := decoder{s: payload}
		switch {
		case kind == frameMeta && s == nil:
			if s, err = d.meta(); err == nil {
				s.words.key = tokenizerKey
			}
		case kind == frameBatch && s != nil:
			err = d.batch(s)
		case kind == frameWords && s != nil:
			if d.text() != tokenizerKey || tokenizerKey == "" {
				kept = append(kept[:at:at], rest...)
				size = 0
				break
			}
			err = d.words(s)
		default:
			err = fmt.Errorf("%w: frame of kind %d where none may be", errCache, kind)
		}
		if err == nil && d.failed {
			err = fmt.Errorf("%w: frame of kind %d ends early", errCache, kind)
		}
		if err != nil {
			return nil, nil, err
		}
		at += size
	}
	if s == nil {
		return nil, nil, fmt.Errorf("%w: it is empty", errCache)
	}
	return s, kept, nil
}

func cutFrame(s string) (kind byte, payload string, err error) {
	if len(s) < frameHeader {
		return 0, "", fmt.Errorf("%w: it ends within a frame", errCache)
	}
	n := binary.LittleEndian.Uint32([]byte(s[:4]))
	if uint64(n) > uint64(len(s)-frameHeader) {
		return 0, "", fmt.Errorf("%w: it ends within a frame", errCache)
	}
	payload = s[frameHeader : frameHeader+int(n)]
	want := binary.LittleEndian.Uint32([]byte(s[5:9]))
	crc := crc32.Update(crc32.Checksum([]byte{s[4]}, castagnoli), castagnoli, unsafe.Slice(unsafe.StringData(payload), len(payload)))
	if crc != want {
		return 0, "", fmt.Errorf("%w: a checksum differs", errCache)
	}
	return s[4], payload, nil
}

// decoder reads numbers and texts. Once one is missing, it returns only zero values.
type decoder struct {
	s      string
	failed bool
}

func (d *decoder) uint() uint64 {
	v, n := uvarint(d.s)
	if n <= 0 {
		d.failed, d.s = true, ""
		return 0
	}
	d.s = d.s[n:]
	return v
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.s)) {
		d.failed, d.s = true, ""
		return ""
	}
	out := d.s[:n]
	d.s = d.s[n:]
	return out
}

func (d *decoder) text() string { return d.bytes(d.uint()) }

// count reads the number of items that follow, each of at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.s)/size) {
		d.failed, d.s = true, ""
		return 0
	}
	return int(n)
}

func (d *decoder) meta() (*store, error) {
	hashLen, shallow := d.uint(), d.text()
	if hashLen != 20 && hashLen != 32 {
		return nil, fmt.Errorf("%w: hashes of %d bytes", errCache, hashLen)
	}
	return newStore(int(hashLen), shallow), nil
}

func encodeMeta(s *store) []byte {
	b := binary.AppendUvarint(nil, uint64(s.hashLen))
	return appendText(b, s.shallow)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
