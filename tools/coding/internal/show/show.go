// Package show makes names, sizes and texts suitable to be shown to a model: unambiguous, limited
// in length and valid UTF-8.
package show

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// Clean returns the output of a program as valid UTF-8 text without terminal sequences.
func Clean(b []byte) string {
	return strings.ToValidUTF8(ansi.Strip(string(b)), "\uFFFD")
}

// Ends keeps the beginning and the end of s, cut at runes, with a mark between them.
func Ends(s string, max int) string {
	if len(s) <= max+max/8 { // a cut that saves next to nothing only does harm
		return s
	}
	head := strings.ToValidUTF8(s[:max*2/3], "")
	tail := strings.ToValidUTF8(s[len(s)-max/3:], "")
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, len(s)-len(head)-len(tail), tail)
}

// Line shortens a line to at most max bytes, at a character boundary, and marks the cut. Bytes that
// are not UTF-8 are shown as U+FFFD.
func Line(s string, max int) string {
	if len(s) <= max {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	cut := max
	for cut > 0 && cut > max-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.ToValidUTF8(s[:cut], "\uFFFD") + "… [" + Size(int64(len(s)-cut)) + " more on this line]"
}

// maxQuoted is the longest path that is quoted in full.
const maxQuoted = 4096

// Path formats a path for a message: unchanged if that is unambiguous, otherwise quoted.
func Path(p string) string {
	if p != "" && strings.TrimSpace(p) == p && !strings.ContainsFunc(p, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '"'
	}) {
		return p
	}
	if len(p) > maxQuoted {
		p = p[:64] + "..."
	}
	return fmt.Sprintf("%q", p)
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 10<<30:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d GiB", n>>30)
}

// Cause strips the operation and path that the os package adds to an error: the messages here have
// their own.
func Cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
