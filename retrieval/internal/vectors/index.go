package vectors

import "hash/maphash"

// index finds rows by their keys. It is a hash table with open addressing. An entry is a row number
// plus one, and half of the hash, so that the keys, which are elsewhere in memory, are rarely read
// for comparison. Because of the random seed, a malicious file cannot choose colliding keys.
type index struct {
	slots []uint64
	used  int
	seed  maphash.Seed
}

// find returns the row of a key. keyOf returns the key of a row.
func (x *index) find(k Key, keyOf func(row int) Key) (row int, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	at, tag := x.begin(k)
	for ; x.slots[at] != 0; at = x.next(at) {
		if e := x.slots[at]; uint32(e>>32) == tag && keyOf(rowOf(e)) == k {
			return rowOf(e), true
		}
	}
	return 0, false
}

// put sets the row of a key and returns its previous row.
func (x *index) put(k Key, row int, keyOf func(row int) Key) (old int, had bool) {
	x.reserve(1, keyOf)
	at, tag := x.begin(k)
	for ; x.slots[at] != 0; at = x.next(at) {
		if e := x.slots[at]; uint32(e>>32) == tag && keyOf(rowOf(e)) == k {
			x.slots[at] = entry(tag, row)
			return rowOf(e), true
		}
	}
	x.slots[at] = entry(tag, row)
	x.used++
	return 0, false
}

// reserve makes room for n more keys.
func (x *index) reserve(n int, keyOf func(row int) Key) {
	size := max(64, len(x.slots))
	for 4*(x.used+n) > 3*size {
		size *= 2
	}
	if size == len(x.slots) {
		return
	}
	old := x.slots
	if old == nil {
		x.seed = maphash.MakeSeed()
	}
	x.slots = make([]uint64, size)
	for _, e := range old {
		if e == 0 {
			continue
		}
		at, tag := x.begin(keyOf(rowOf(e)))
		for x.slots[at] != 0 {
			at = x.next(at)
		}
		x.slots[at] = entry(tag, rowOf(e))
	}
}

// begin returns the position where the search for a key starts, and the key's tag.
func (x *index) begin(k Key) (at int, tag uint32) {
	h := maphash.Bytes(x.seed, k[:])
	return int(h & uint64(len(x.slots)-1)), uint32(h >> 32)
}

func (x *index) next(at int) int { return (at + 1) & (len(x.slots) - 1) }

func entry(tag uint32, row int) uint64 { return uint64(tag)<<32 | uint64(uint32(row+1)) }

func rowOf(e uint64) int { return int(uint32(e)) - 1 }
