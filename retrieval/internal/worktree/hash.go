package worktree

import (
	"crypto/sha256"
	"encoding/hex"
)

// A Hash identifies a content: the first 16 bytes of its SHA-256.
//
// Computing it takes about 2 ms per megabyte without hardware support and a fifth of that with it,
// which is little compared with indexing. With a faster, unkeyed hash (such as xxh3), a hostile
// repository could contain two files with the same hash. SHA-256 prevents that, and needs no
// additional module.
type Hash [16]byte

// HashOf returns the hash of a content.
func HashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(sum[:16])
}

func (h Hash) String() string { return hex.EncodeToString(h[:]) }
