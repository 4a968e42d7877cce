package agent

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text returns the content of the instruction file p, of which data holds at most one byte more
// than may be used.
func (i Instructions) text(p string, data []byte) string {
	cut := ""
	if len(data) > maxInstruction {
		data, cut = wholeCharacters(data[:maxInstruction]), fmt.Sprintf("\n[… %s goes on; only its first %d KiB are shown]", p, maxInstruction>>10)
	}
	text, ok := i.Decode(data)
	if !ok {
		return fmt.Sprintf("[%s is not a text file and was left out]", p)
	}
	if cut != "" {
		text = strings.TrimRight(text, "\uFFFD") // half a character
	}
	return strings.TrimSpace(text) + cut
}

// wholeCharacters removes the beginning of a character of UTF-8 at the end of data.
func wholeCharacters(data []byte) []byte {
	if bytes.IndexByte(data, 0) >= 0 {
		return data // UTF-16, of which an even number of bytes is kept
	}
	for i := 0; i < utf8.UTFMax && i < len(data) && !utf8.Valid(data[len(data)-i-1:]); i++ {
		if utf8.RuneStart(data[len(data)-i-1]) {
			return data[:len(data)-i-1]
		}
	}
	return data
}

// decodeInstruction reads UTF-8, and UTF-16 with or without a byte order mark. Bytes that are not
// UTF-8 become U+FFFD.
func decodeInstruction(data []byte) (string, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order, data = binary.LittleEndian, data[2:]
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order, data = binary.BigEndian, data[2:]
	case bytes.IndexByte(data, 0) >= 0:
		if order = zeroBytes(data); order == nil {
			return "", false
		}
	default:
		return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\uFFFD"), true
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	text := string(utf16.Decode(units))
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	return text, !strings.ContainsFunc(text, control)
}

// zeroBytes returns the byte order of UTF-16 without a mark: its ASCII has a zero byte, always on
// the same side. It returns nil for anything else.
func zeroBytes(data []byte) binary.ByteOrder {
	var zero [2]bool
	for i, c := range data {
		zero[i%2] = zero[i%2] || c == 0
	}
	switch {
	case len(data)%2 != 0 || zero[0] == zero[1]:
		return nil
	case zero[0]:
		return binary.BigEndian
	}
	return binary.LittleEndian
}
