package vectors

import (
	"crypto/sha256"
	"encoding/hex"
)

// Key identifies a text: the first 16 bytes of its SHA-256.
type Key [16]byte

// KeyOf returns the key of a text in the form in which it is embedded.
func KeyOf(text string) Key {
	sum := sha256.Sum256([]byte(text))
	return Key(sum[:16])
}

// String returns the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }
