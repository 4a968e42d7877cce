package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// broken is shown for bytes that mean nothing in an encoding.
const broken = string(utf8.RuneError)

// A decoder converts single characters of one encoding, in both directions.
type decoder struct {
	c     *codec
	table *charmap.Charmap // nil unless single-byte
	dec   *encoding.Decoder
	enc   *encoding.Encoder
	known map[uint32]string // of characters with several bytes
	bytes map[rune]string   // of runes, "" if there are none
}

func newDecoder(c *codec) *decoder {
	d := &decoder{c: c}
	if c.enc == nil {
		return d
	}
	d.table, _ = c.enc.(*charmap.Charmap)
	if d.table == nil {
		d.dec, d.enc = c.enc.NewDecoder(), c.enc.NewEncoder()
		d.known = map[uint32]string{}
	}
	d.bytes = map[rune]string{}
	return d
}

// one returns the text of one character, [broken] if it has no meaning.
func (d *decoder) one(unit []byte) string {
	if len(unit) == 1 && unit[0] < utf8.RuneSelf {
		return ascii[unit[0] : unit[0]+1]
	}
	switch {
	case d.table != nil:
		return string(d.table.DecodeByte(unit[0]))
	case d.c.enc == nil:
		return string(d.unicode(unit))
	}
	var key uint32
	for _, b := range unit {
		key = key<<8 | uint32(b)
	}
	s, ok := d.known[key]
	if !ok {
		s = broken
		if out, err := d.dec.Bytes(unit); err == nil && len(out) > 0 {
			s = string(out)
		}
		if utf8.RuneCountInString(s) != 1 {
			s = broken // the decoder took the pair apart
		}
		d.known[key] = s
	}
	return s
}

func (d *decoder) unicode(unit []byte) rune {
	var order binary.ByteOrder = binary.LittleEndian
	if d.c.big {
		order = binary.BigEndian
	}
	switch d.c {
	case utf16LECodec, utf16BECodec:
		switch len(unit) {
		case 2:
			if r := rune(order.Uint16(unit)); !utf16.IsSurrogate(r) {
				return r
			}
		case 4:
			return utf16.DecodeRune(rune(order.Uint16(unit)), rune(order.Uint16(unit[2:])))
		}
		return utf8.RuneError
	case utf32LECodec, utf32BECodec:
		if len(unit) == 4 && order.Uint32(unit) <= utf8.MaxRune && utf8.ValidRune(rune(order.Uint32(unit))) {
			return rune(order.Uint32(unit))
		}
		return utf8.RuneError
	}
	r, _ := utf8.DecodeRune(unit)
	return r
}

// encode returns the bytes of a character.
func (d *decoder) encode(r rune) (string, bool) {
	var order appender = binary.LittleEndian
	if d.c.big {
		order = binary.BigEndian
	}
	switch d.c {
	case utf8Codec:
		return string(r), true
	case utf16LECodec, utf16BECodec:
		if r >= 0x10000 {
			hi, lo := utf16.EncodeRune(r)
			return string(order.AppendUint16(order.AppendUint16(nil, uint16(hi)), uint16(lo))), true
		}
		return string(order.AppendUint16(nil, uint16(r))), true
	case utf32LECodec, utf32BECodec:
		return string(order.AppendUint32(nil, uint32(r))), true
	}
	if r < utf8.RuneSelf {
		return ascii[r : r+1], true
	}
	s, seen := d.bytes[r]
	if !seen && r != utf8.RuneError {
		s = d.look(r)
	}
	d.bytes[r] = s
	return s, s != ""
}

// look returns the bytes that decode to r, or "".
func (d *decoder) look(r rune) string {
	if d.table != nil {
		if b, ok := d.table.EncodeRune(r); ok && d.table.DecodeByte(b) == r {
			return string([]byte{b})
		}
		return ""
	}
	out, err := d.enc.Bytes([]byte(string(r)))
	if err != nil || len(out) == 0 || d.c.step(out) != len(out) || d.one(out) != string(r) {
		return ""
	}
	return string(out)
}

type appender interface {
	AppendUint16([]byte, uint16) []byte
	AppendUint32([]byte, uint32) []byte
}

// ascii holds the characters of ASCII, each at its own index.
const ascii = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x7f"
