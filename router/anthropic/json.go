package anthropic

import "unicode/utf8"

// The writers below append JSON to a buffer. They exist so that raw JSON passes through untouched and a long history
// is written in one pass; encoding/json re-scans, compacts and escapes every raw value.

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259). Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of one byte that a JSON string must not hold.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendField appends ,"key":"value".
func appendField(dst []byte, key, value string) []byte {
	dst = append(dst, ',')
	dst = appendString(dst, key)
	dst = append(dst, ':')
	return appendString(dst, value)
}
