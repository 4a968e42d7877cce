package coding

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
)

// encoding is the character encoding of a text file.
type encoding uint8

const (
	encUTF8 encoding = iota
	encUTF16LE
	encUTF16BE
)

func (e encoding) String() string { return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE"}[e] }

// textFile is a file decoded to text, with what is needed to encode it the same way. The text is
// UTF-8 without a byte order mark; line endings, and bytes that are not UTF-8, are kept as in the
// file.
type textFile struct {
	text string
	enc  encoding
	bom  bool
}

const (
	bomUTF8  = "\xef\xbb\xbf"
	bomLE    = "\xff\xfe"
	bomBE    = "\xfe\xff"
	sniffLen = 8000 // as in git: a NUL within these bytes makes a file binary
)

// decode returns the content of a text file, or the kind of a binary file.
func decode(data []byte) (f textFile, binaryKind string) {
	switch {
	case bytes.HasPrefix(data, []byte(bomUTF8)):
		return textFile{text: string(data[len(bomUTF8):]), bom: true}, ""
	case bytes.HasPrefix(data, []byte(bomLE)) && len(data)%2 == 0:
		return textFile{decodeUTF16(data[2:], binary.LittleEndian), encUTF16LE, true}, ""
	case bytes.HasPrefix(data, []byte(bomBE)) && len(data)%2 == 0:
		return textFile{decodeUTF16(data[2:], binary.BigEndian), encUTF16BE, true}, ""
	}
	if enc := sniffUTF16(data); enc != encUTF8 {
		return textFile{text: decodeUTF16(data, byteOrder(enc)), enc: enc}, ""
	}
	if looksBinary(data) {
		return textFile{}, binaryName(data)
	}
	return textFile{text: string(data)}, ""
}

// encode is the inverse of decode.
func (f textFile) encode() []byte {
	if f.enc == encUTF8 {
		if f.bom {
			return []byte(bomUTF8 + f.text)
		}
		return []byte(f.text)
	}
	order := byteOrder(f.enc)
	units := utf16.Encode([]rune(f.text))
	out := make([]byte, 0, 2*len(units)+2)
	if f.bom {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, u := range units {
		out = order.AppendUint16(out, u)
	}
	return out
}

// lossless reports whether encoding the file again results in the original bytes.
func (f textFile) lossless(data []byte) bool {
	return f.enc == encUTF8 || bytes.Equal(f.encode(), data)
}

// order combines both interfaces of a byte order, which are separate in the standard library.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func byteOrder(e encoding) order {
	if e == encUTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// sniffUTF16 recognises UTF-16 without a byte order mark by its zero bytes: mostly Latin text has
// one in each pair, always on the same side.
func sniffUTF16(data []byte) encoding {
	if len(data) < 8 || len(data)%2 != 0 {
		return encUTF8
	}
	sample := data[:min(len(data), sniffLen)]
	var zero [2]int
	for i, c := range sample {
		if c == 0 {
			zero[i%2]++
		}
	}
	pairs := len(sample) / 2
	switch {
	case zero[0] == 0 && zero[1]*10 > pairs*7:
		return encUTF16LE
	case zero[1] == 0 && zero[0]*10 > pairs*7:
		return encUTF16BE
	}
	return encUTF8
}

func looksBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffLen)], 0) >= 0 || bytes.HasPrefix(data, []byte("%PDF-"))
}

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

// lineEnding returns the ending of most lines in s, or "\n" if there is no line. It is "\r" if s has
// no other.
func lineEnding(s string) string {
	if strings.Count(s, "\r\n")*2 > strings.Count(s, "\n") {
		return "\r\n"
	}
	if strings.Contains(s, "\r") && !strings.Contains(s, "\n") {
		return "\r"
	}
	return "\n"
}

// withLineEnding replaces the endings of the lines of s with eol. "\r" is a line ending only if s has
// no other.
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
