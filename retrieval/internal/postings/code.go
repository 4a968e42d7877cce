package postings

import "encoding/binary"

// A list of postings is encoded in bytes. In two of three cases a posting is a single byte;
// otherwise its first byte determines which bytes follow. The table codes decodes the first byte.
// It is made from the constants below, which were chosen by measuring source code:
//
//	plain   one of the first 16 shapes s, and one of the gaps from 0 to plainGaps[s]-1
//	short   shape s, and a gap above those of plain: 256 gaps per code, shortGaps[s] codes, with one more byte
//	wide    shape s, and a gap above those of short, with two more bytes
//	run     two or more postings with gap 0 and shape 0
//	rare    a small gap, and one more byte for a shape of 16 or more
//	escape  varints of gap and shape
//
// A gap is the number of chunks between a posting and the previous one, or the beginning of the
// list. Shapes are numbered by their frequency in the whole index. A list of manyPostings or more
// begins with a varint of its most common shape. Inside the list that shape is number 0, and the
// shapes before it move up by one: the words of a path have similar shapes, which differ from the
// shapes of words in the body.

const (
	commonShapes = 16
	rareGaps     = 11
	longestRun   = 12
	manyPostings = 8

	longestPosting = 1 + 2*binary.MaxVarintLen32 // in bytes
)

var (
	plainGaps = [commonShapes]uint32{78, 24, 19, 8, 8, 7, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1}
	shortGaps = [commonShapes]uint32{19, 6, 5, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
)

// code is the meaning of a posting's first byte.
type code struct {
	gap   uint16 // the number in the following bytes is added to gap; for a run, gap is its length
	shape uint8
	kind  kind
}

type kind uint8

const (
	kindPlain kind = iota
	kindShort
	kindWide
	kindRun
	kindRare
	kindEscape
)

// codeTable lists the codes in order: the plain and short codes of shape 0, then of shape 1, and so
// on; the wide codes; the runs; the rare codes; the escape.
type codeTable struct {
	codes  [256]code
	plain  [commonShapes]uint32 // first code of each shape
	wide   uint32               // code of shape 0
	run    uint32               // code of two postings
	rare   uint32               // code of gap 0
	escape uint32
}

func makeCodes() (t codeTable) {
	n := uint32(0)
	add := func(gap, shape uint32, kind kind) {
		t.codes[n] = code{uint16(gap), uint8(shape), kind}
		n++
	}
	for s := range uint32(commonShapes) {
		t.plain[s] = n
		for gap := range plainGaps[s] {
			add(gap, s, kindPlain)
		}
		for i := range shortGaps[s] {
			add(plainGaps[s]+i<<8, s, kindShort)
		}
	}
	t.wide = n
	for s := range uint32(commonShapes) {
		add(plainGaps[s]+shortGaps[s]<<8, s, kindWide)
	}
	t.run = n
	for length := uint32(2); length <= longestRun; length++ {
		add(length, 0, kindRun)
	}
	t.rare = n
	for gap := range uint32(rareGaps) {
		add(gap, 0, kindRare)
	}
	t.escape = n
	add(0, 0, kindEscape)
	return t
}

var (
	codeOf = makeCodes()
	codes  = codeOf.codes
)

// appendPostings encodes a list.
func appendPostings(dst []byte, list []rankedPosting) []byte {
	common := uint32(0)
	if len(list) >= manyPostings {
		common = commonest(list)
		dst = binary.AppendUvarint(dst, uint64(common))
	}
	next, run := uint32(0), uint32(0)
	for _, p := range list {
		gap, shape := p.chunk-next, p.shape
		next = p.chunk + 1
		switch {
		case shape == common:
			shape = 0
		case shape < common:
			shape++
		}
		if gap == 0 && shape == 0 {
			if run++; run == longestRun {
				dst, run = appendRun(dst, run), 0
			}
			continue
		}
		dst, run = appendRun(dst, run), 0
		dst = appendPosting(dst, gap, shape)
	}
	return appendRun(dst, run)
}

// commonest returns the shape that most postings have. The result is a guess that is right if more
// than half of the postings have that shape.
func commonest(list []rankedPosting) uint32 {
	best, votes := uint32(0), 0
	for _, p := range list {
		switch {
		case p.shape == best:
			votes++
		case votes == 0:
			best, votes = p.shape, 1
		default:
			votes--
		}
	}
	return best
}

// appendRun encodes n postings with gap 0 and shape 0.
func appendRun(dst []byte, n uint32) []byte {
	switch n {
	case 0:
		return dst
	case 1:
		return append(dst, byte(codeOf.plain[0]))
	}
	return append(dst, byte(codeOf.run+n-2))
}

// appendPosting encodes one posting.
func appendPosting(dst []byte, gap, shape uint32) []byte {
	if shape < commonShapes {
		rest := gap
		if rest < plainGaps[shape] {
			return append(dst, byte(codeOf.plain[shape]+rest))
		}
		rest -= plainGaps[shape]
		if rest>>8 < shortGaps[shape] {
			return append(dst, byte(codeOf.plain[shape]+plainGaps[shape]+rest>>8), byte(rest))
		}
		rest -= shortGaps[shape] << 8
		if rest <= 0xffff {
			return append(dst, byte(codeOf.wide+shape), byte(rest), byte(rest>>8))
		}
	} else if gap < rareGaps && shape < commonShapes+256 {
		return append(dst, byte(codeOf.rare+gap), byte(shape-commonShapes))
	}
	dst = append(dst, byte(codeOf.escape))
	dst = binary.AppendUvarint(dst, uint64(gap))
	return binary.AppendUvarint(dst, uint64(shape))
}

// decodePosting decodes the posting at the start of data, which is not a run. The size is 0 if
// there is none.
func decodePosting(data []byte) (gap, shape uint64, size int) {
	if len(data) == 0 {
		return 0, 0, 0
	}
	c := codes[data[0]]
	gap, shape = uint64(c.gap), uint64(c.shape)
	switch {
	case c.kind == kindPlain:
		return gap, shape, 1
	case c.kind == kindShort && len(data) > 1:
		return gap + uint64(data[1]), shape, 2
	case c.kind == kindWide && len(data) > 2:
		return gap + uint64(data[1]) + uint64(data[2])<<8, shape, 3
	case c.kind == kindRare || c.kind == kindEscape:
		gap, shape, size = decodeRare(c, data[1:])
		return gap, shape, min(size, 1) + size
	}
	return 0, 0, 0
}

// decodeRare decodes the bytes after a code for rare shapes or the escape. The size is 0 if they
// are missing.
func decodeRare(c code, data []byte) (gap, shape uint64, size int) {
	if c.kind == kindRare {
		if len(data) == 0 {
			return 0, 0, 0
		}
		return uint64(c.gap), uint64(data[0]) + commonShapes, 1
	}
	gap, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, 0, 0
	}
	shape, m := binary.Uvarint(data[n:])
	if m <= 0 {
		return 0, 0, 0
	}
	return gap, shape, n + m
}
