package coding

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/tools/coding/internal/charset"
)

// textFile is a file decoded to text, with what is needed to encode it the same way. The text is
// UTF-8 without a byte order mark; line endings are kept as in the file. Bytes without a meaning in
// the file's encoding are U+FFFD.
type textFile struct {
	text string
	src  charset.Text // the file as it was read; the zero value stands for a new file
}

// bomUTF8 begins some UTF-8 files.
const bomUTF8 = "\xef\xbb\xbf"

// decode returns the content of a text file, or the kind of a binary file.
func decode(data []byte) (f textFile, binaryKind string) {
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		return textFile{}, binaryName(data)
	}
	t, ok := charset.Decode(data)
	if !ok {
		return textFile{}, binaryName(data)
	}
	return textFile{text: t.String, src: t}, ""
}

// DecodeText returns the content of a text file in UTF-8, decoded in the same way as the tools do,
// and reports false for a binary file. It is meant for [agent.Instructions].
func DecodeText(data []byte) (string, bool) {
	f, kind := decode(data)
	return f.text, kind == ""
}

// encode is the inverse of decode. It fails if the file's encoding does not have a character.
func (f textFile) encode() ([]byte, error) { return f.src.Encode(f.text) }

// lossless reports whether the file can be changed without harm to what is broken in it.
func (f textFile) lossless() bool { return !f.src.Broken || !f.src.Wide() }

// binaryName returns the name of a binary format, where its first bytes show it.
func binaryName(data []byte) string {
	for _, m := range []struct{ magic, name string }{
		{"\x7fELF", "ELF program"}, {"MZ", "Windows program"}, {"\xcf\xfa\xed\xfe", "Mach-O program"},
		{"\xca\xfe\xba\xbe", "Java class or universal program"}, {"\x00asm", "WebAssembly module"},
		{"SQLite format 3\x00", "SQLite database"}, {"!<arch>", "object archive"}, {"%PDF-", "PDF document"},
		{"GGUF", "GGUF model"}, {"\x28\xb5\x2f\xfd", "Zstandard archive"}, {"BZh", "bzip2 archive"}, {"\xfd7zXZ\x00", "xz archive"},
	} {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.name
		}
	}
	if t := http.DetectContentType(data); t != "application/octet-stream" && !strings.HasPrefix(t, "text/") {
		return t + " file"
	}
	return "binary file"
}

// lineEnding returns the ending of most lines in s, or "\n" if there is no line. It is "\r" if s
// has no other.
func lineEnding(s string) string {
	if strings.Count(s, "\r\n")*2 > strings.Count(s, "\n") {
		return "\r\n"
	}
	if strings.Contains(s, "\r") && !strings.Contains(s, "\n") {
		return "\r"
	}
	return "\n"
}

// withLineEnding replaces the endings of the lines of s with eol. "\r" is a line ending only if s
// has no other.
func withLineEnding(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.Contains(s, "\n") {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	if eol != "\n" {
		s = strings.ReplaceAll(s, "\n", eol)
	}
	return s
}

// countLines counts the lines of a text; the last one may lack its newline.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// notes joins remarks for the end of a result; empty ones are dropped.
func notes(ns ...string) string {
	ns = slices.DeleteFunc(ns, func(s string) bool { return s == "" })
	if len(ns) == 0 {
		return ""
	}
	return "(" + strings.Join(ns, "; ") + ")"
}
