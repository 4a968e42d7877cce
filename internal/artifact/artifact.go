// Package artifact names texts that are too long for a model's context: the handle of a text, how
// to find handles in what a model was shown, and the name of the tool that reads them back. It is
// below both the stores that keep such texts and the policies that refer to them.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ReadTool is the name of the tool that reads an artifact back.
const ReadTool = "read_artifact"

const (
	prefix = "artifact-"
	digits = 24
)

// Handle returns the handle of a text: the beginning of its SHA-256. The same text always has the
// same handle, and a handle cannot name anything except a text.
func Handle(data []byte) string {
	sum := sha256.Sum256(data)
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// Valid reports whether s has the shape of a handle.
func Valid(s string) bool {
	return len(s) == len(prefix)+digits && strings.HasPrefix(s, prefix) && hexPrefix(s[len(prefix):]) == digits
}

// Find returns the first handle that text names, or "".
func Find(text string) string {
	for {
		i := strings.Index(text, prefix)
		if i < 0 {
			return ""
		}
		rest := text[i+len(prefix):]
		if hexPrefix(rest) >= digits && (len(rest) == digits || !isWord(rest[digits])) {
			return text[i : i+len(prefix)+digits]
		}
		text = rest
	}
}

// FindAll returns the handles that text names, each once, in order.
func FindAll(text string) []string {
	var all []string
	seen := map[string]bool{}
	for {
		h := Find(text)
		if h == "" {
			return all
		}
		if !seen[h] {
			seen[h] = true
			all = append(all, h)
		}
		text = text[strings.Index(text, h)+len(h):]
	}
}

// hexPrefix returns how many lower-case hexadecimal digits s starts with.
func hexPrefix(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	return n
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
