package codestore

import "encoding/binary"

// seal updates the checksums of a segment to match its contents.
func seal(raw []byte) bool {
	if len(raw) < headerSize {
		return false
	}
	le := binary.LittleEndian
	le.PutUint64(raw[32:], uint64(len(raw)))
	if n := le.Uint64(raw[24:]); n <= uint64(len(raw)-headerSize) {
		le.PutUint32(raw[40:], checksum(raw[headerSize:headerSize+n]))
	}
	le.PutUint32(raw[60:], checksum(raw[:60]))
	return true
}
