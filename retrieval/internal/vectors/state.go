package vectors

import (
	"sort"
)

// state is the store's state: its rows, and which of them are live. It is guarded by Store.mu.
type state struct {
	dim    int          // 0 until there is a vector
	unmap  func() error // unmaps the mapped blocks; nil if there are none
	blocks []*block     // of rows
	firsts []int        // number of the first row of each block
	rows   int          // total number of rows in all blocks
	live   bits         // rows that were not deleted, replaced or found damaged
	alive  int          // number of live rows
	index  index        // rows by key
	pieces []piece      // the blocks, divided into pieces for a search
	end    int64        // end of the last block in the file
	heap   int64        // bytes of blocks that are not mapped
	small  int          // number of blocks with few rows, and of blocks of deleted keys
	lost   int64        // bytes of the file that belong to no block
	gen    uint64       // incremented with each change of the rows
}

// piece is a range of rows of a block.
type piece struct {
	b      *block
	first  int // number of the first row
	lo, hi int // rows of the block
}

// pieceBytes is the number of rounded bytes in a piece: small enough that all cores finish at about
// the same time, and large enough that the cost of taking a piece is negligible.
const pieceBytes = 192 << 10

// add adds a block.
func (s *state) add(b *block) {
	s.gen++
	s.end = max(s.end, b.off+b.size)
	if s.isSmall(b) {
		s.small++
	}
	if b.kind == kindDead {
		for i := range b.n {
			if row, ok := s.find(b.key(i)); ok {
				s.drop(row)
			}
		}
		return
	}
	first := s.rows
	s.blocks, s.firsts = append(s.blocks, b), append(s.firsts, first)
	s.rows += b.n
	s.live = s.live.grown(s.rows)
	s.index.reserve(b.n, s.key)
	for i := range b.n {
		if old, had := s.index.put(b.key(i), first+i, s.key); had {
			s.drop(old)
		}
		s.live.add(first + i)
		s.alive++
	}
	step := max(1, pieceBytes/strideOf(s.dim))
	for lo := 0; lo < b.n; lo += step {
		s.pieces = append(s.pieces, piece{b, first + lo, lo, min(b.n, lo+step)})
	}
}

// isSmall reports whether a block is worth joining with others.
func (s *state) isSmall(b *block) bool { return b.kind == kindDead || b.n < rowsOf(s.dim)/4 }

// drop marks a row as not live.
func (s *state) drop(row int) {
	if s.live.has(row) {
		s.live.remove(row)
		s.alive--
		s.gen++
	}
}

// find returns the live row of a key.
func (s *state) find(k Key) (row int, ok bool) {
	row, ok = s.index.find(k, s.key)
	return row, ok && s.live.has(row)
}

// at returns the block of a row and the row's number in it.
func (s *state) at(row int) (*block, int) {
	i := sort.SearchInts(s.firsts, row+1) - 1
	return s.blocks[i], row - s.firsts[i]
}

// key returns the key of a row.
func (s *state) key(row int) Key {
	b, i := s.at(row)
	return b.key(i)
}

// rebind makes all blocks point into data, the bytes of the file.
func (s *state) rebind(data []byte, unmap func() error) {
	for _, b := range s.blocks {
		b.bind(data[b.off:], s.dim)
	}
	if s.unmap != nil {
		_ = s.unmap() // the old mapping is not used any more
	}
	s.unmap, s.heap = unmap, 0
}
