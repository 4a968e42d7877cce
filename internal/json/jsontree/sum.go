package jsontree

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Summer hashes JSON texts. Texts of the same value have the same hash: white space, the order of
// members, the spelling of numbers (1, 1.0, 10e-1) and the escapes of strings do not count, and of
// repeated keys the last one counts. A text that is not JSON is hashed as it is; an empty text
// counts as an empty object.
//
// A Summer keeps its buffers, so that the hash of ordinary arguments allocates nothing. It is not
// safe for concurrent use.
type Summer struct {
	Seed    maphash.Seed
	members []hashedMember // a stack, of the open objects
	first   [12]hashedMember
}

// hashedMember is a key and a value of an object.
type hashedMember struct{ key, value uint64 }

// Sum returns the hash of a text.
func (s *Summer) Sum(data []byte) uint64 {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if s.members == nil {
		s.members = s.first[:0]
	}
	s.members = s.members[:0]
	p := scanner{data: data, s: s}
	if v, ok := p.value(0); ok && p.next() == 0 && p.i == len(data) {
		return v
	}
	return s.text('?', data)
}

// Same reports whether two texts are the same JSON value, as a [Summer] sees them.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	s := Summer{Seed: maphash.MakeSeed()}
	return s.Sum(a) == s.Sum(b)
}

// text hashes a text of a kind.
func (s *Summer) text(kind byte, data []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(s.Seed)
	h.WriteByte(kind)
	h.Write(data)
	return h.Sum64()
}

// scanner walks one text. Its functions return false if the text is not JSON.
type scanner struct {
	data []byte
	i    int
	s    *Summer
}

// next skips white space and returns the byte after it, or 0 at the end.
func (p *scanner) next() byte {
	for p.i < len(p.data) {
		switch c := p.data[p.i]; c {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// eat skips a byte after white space.
func (p *scanner) eat(c byte) bool {
	if p.next() != c {
		return false
	}
	p.i++
	return true
}

// value hashes the value at the cursor.
func (p *scanner) value(depth int) (uint64, bool) {
	const maxDepth = 1000
	if depth > maxDepth {
		return 0, false
	}
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.text()
	}
	start := p.i
	for p.i < len(p.data) && strings.IndexByte(" \t\r\n,]}", p.data[p.i]) < 0 {
		p.i++
	}
	word := p.data[start:p.i]
	switch string(word) {
	case "true", "false", "null":
		return p.s.text('w', word), true
	}
	return p.s.number(word)
}

// object hashes an object: its members sorted by key.
func (p *scanner) object(depth int) (uint64, bool) {
	p.i++
	base := len(p.s.members)
	for first := true; !p.eat('}'); first = false {
		if !first && !p.eat(',') || p.next() != '"' {
			return 0, false
		}
		key, ok := p.text()
		if !ok || !p.eat(':') {
			return 0, false
		}
		value, ok := p.value(depth + 1)
		if !ok {
			return 0, false
		}
		p.s.members = append(p.s.members, hashedMember{key, value})
	}
	members := p.s.members[base:]
	slices.SortStableFunc(members, func(a, b hashedMember) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	h := p.s.list('{')
	for i, m := range members {
		if i+1 == len(members) || members[i+1].key != m.key {
			writeSum(&h, m.key)
			writeSum(&h, m.value)
		}
	}
	p.s.members = p.s.members[:base]
	return h.Sum64(), true
}

// array hashes an array.
func (p *scanner) array(depth int) (uint64, bool) {
	p.i++
	h := p.s.list('[')
	for first := true; !p.eat(']'); first = false {
		if !first && !p.eat(',') {
			return 0, false
		}
		value, ok := p.value(depth + 1)
		if !ok {
			return 0, false
		}
		writeSum(&h, value)
	}
	return h.Sum64(), true
}

// list begins the hash of an array or an object.
func (s *Summer) list(kind byte) (h maphash.Hash) {
	h.SetSeed(s.Seed)
	h.WriteByte(kind)
	return h
}

// writeSum adds the hash of a part.
func writeSum(h *maphash.Hash, sum uint64) {
	var b [8]byte
	h.Write(binary.LittleEndian.AppendUint64(b[:0], sum))
}

// text hashes the string at the cursor, without its escapes.
func (p *scanner) text() (uint64, bool) {
	start, escaped := p.i, false
	for p.i++; p.i < len(p.data) && p.data[p.i] != '"'; p.i++ {
		if p.data[p.i] == '\\' {
			escaped = true
			p.i++
		}
	}
	if p.i >= len(p.data) {
		return 0, false
	}
	p.i++
	raw := p.data[start:p.i]
	if escaped || !utf8.Valid(raw) {
		return p.s.text('"', []byte(unquote(string(raw)))), true
	}
	return p.s.text('"', raw[1:len(raw)-1]), true
}

// number hashes a number by its digits, without leading and trailing zeros, and its exponent.
func (s *Summer) number(word []byte) (uint64, bool) {
	rest, negative := bytes.CutPrefix(word, []byte("-"))
	mantissa, exponent := rest, 0
	if i := bytes.IndexAny(rest, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(string(rest[i+1:])); err != nil {
			return 0, false
		}
		mantissa = rest[:i]
	}
	whole, fraction, point := bytes.Cut(mantissa, []byte("."))
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' || point && len(fraction) == 0 || !digits(whole) || !digits(fraction) {
		return 0, false
	}
	var buf [32]byte
	all := append(append(buf[:0], whole...), fraction...)
	exponent -= len(fraction)
	all = bytes.TrimLeft(all, "0")
	n := len(all)
	all = bytes.TrimRight(all, "0")
	exponent += n - len(all)
	h := s.list('0')
	switch {
	case len(all) == 0:
		return h.Sum64(), true
	case negative:
		h.WriteByte('-')
	}
	h.Write(all)
	writeSum(&h, uint64(exponent))
	return h.Sum64(), true
}

// digits reports whether a text has only digits.
func digits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
