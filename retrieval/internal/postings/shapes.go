package postings

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// shapeSet numbers the distinct per-field counts of postings (shapes) in the order of their
// appearance.
type shapeSet struct {
	slots []uint32 // open addressing: number plus one
	all   []shape
}

type shape struct {
	counts uint64
	uses   uint32
}

// number returns the number of a shape, and counts a use of it.
func (s *shapeSet) number(counts uint64) uint32 {
	if 2*len(s.all) >= len(s.slots) {
		s.grow()
	}
	i := s.find(counts)
	if s.slots[i] == 0 { // a new one
		s.all = append(s.all, shape{counts: counts})
		s.slots[i] = uint32(len(s.all))
	}
	n := s.slots[i] - 1
	s.all[n].uses++
	return n
}

// look returns the number of a shape that already has one.
func (s *shapeSet) look(counts uint64) uint32 { return s.slots[s.find(counts)] - 1 }

// find returns the slot of a shape, or the slot where it should be added.
func (s *shapeSet) find(counts uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := counts * 0x9e3779b97f4a7c15
	i = bits.ReverseBytes64(i) & mask
	for s.slots[i] != 0 && s.all[s.slots[i]-1].counts != counts {
		i = (i + 1) & mask
	}
	return i
}

func (s *shapeSet) grow() {
	s.slots = make([]uint32, max(256, 2*len(s.slots)))
	for n, sh := range s.all {
		s.slots[s.find(sh.counts)] = uint32(n + 1)
	}
}

// ranked returns the used shapes by descending frequency, and the rank of each number.
func (s *shapeSet) ranked() (shapes []shape, rank []uint32) {
	var order []uint32
	for n, sh := range s.all {
		if sh.uses > 0 {
			order = append(order, uint32(n))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := s.all[a], s.all[b]
		return cmp.Or(cmp.Compare(y.uses, x.uses), cmp.Compare(x.counts, y.counts))
	})
	rank = make([]uint32, len(s.all))
	for r, n := range order {
		rank[n] = uint32(r)
		shapes = append(shapes, s.all[n])
	}
	return shapes, rank
}

// encodeShapes encodes the table of shapes.
func encodeShapes(shapes []shape) []byte {
	var out []byte
	for _, s := range shapes {
		out = binary.LittleEndian.AppendUint64(out, s.counts)
	}
	return out
}

// counts returns the shape of a posting.
func counts(p *Posting) uint64 { return binary.LittleEndian.Uint64(p.TF[:]) }
