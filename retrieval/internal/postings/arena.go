package postings

// pageBits is the base-2 logarithm of the number of bytes or elements in a page of an arena.
const pageBits = 15

// arena holds bytes in pages, so that growing copies nothing and leaves no garbage. A position in
// an arena has 32 bits.
type arena struct {
	pages [][]byte
	next  uint32
}

// alloc returns the position of n new bytes in one page; n is at most the page size.
func (a *arena) alloc(n int) uint32 {
	if room := int(uint32(len(a.pages))<<pageBits - a.next); room < n {
		if len(a.pages) == 1<<(32-pageBits) {
			panic("postings: add: index is larger than 4 GB: build several and search them all")
		}
		a.next += uint32(room)
		a.pages = append(a.pages, make([]byte, 1<<pageBits))
	}
	at := a.next
	a.next += uint32(n)
	return at
}

// bytes returns the n bytes at a position.
func (a *arena) bytes(at uint32, n int) []byte {
	page := a.pages[at>>pageBits]
	off := at & (1<<pageBits - 1)
	return page[off:][:n]
}

// put copies bytes into the arena.
func (a *arena) put(b []byte) uint32 {
	at := a.alloc(max(len(b), 1)) // so that an empty one has a page too
	copy(a.bytes(at, len(b)), b)
	return at
}

// pages is a list that grows without copying. Pointers to its elements stay valid.
type pages[T any] struct {
	pages [][]T
	n     uint32
}

const elementBits = 10

func (p *pages[T]) at(i uint32) *T {
	return &p.pages[i>>elementBits][i&(1<<elementBits-1)]
}

func (p *pages[T]) add() *T {
	if p.n&(1<<elementBits-1) == 0 {
		p.pages = append(p.pages, make([]T, 1<<elementBits))
	}
	p.n++
	return p.at(p.n - 1)
}
