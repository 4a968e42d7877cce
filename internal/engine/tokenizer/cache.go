package tokenizer

import (
	"strings"
	"sync/atomic"
)

// cacheSlots is the number of words in a cache.
const cacheSlots = 1 << 15

// longestCached is the length in bytes of the longest word that is cached.
const longestCached = 64

// wordCache stores the tokens of words that are not pieces. A word's hash selects two slots, and
// the word replaces the entry in one of them. So the cache is bounded, needs no lock, and can be
// used by any number of goroutines.
type wordCache struct {
	slots [cacheSlots]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

// get finds a word by its hash and text.
func (c *wordCache) get(h uint64, word string) ([]int32, bool) {
	at := h >> 32 % cacheSlots
	if e := c.slots[at].Load(); e != nil && e.word == word {
		return e.ids, true
	}
	if e := c.slots[at^1].Load(); e != nil && e.word == word {
		return e.ids, true
	}
	return nil, false
}

// put stores a word. It keeps copies of its arguments.
func (c *wordCache) put(h uint64, word string, ids []int32) {
	if len(word) > longestCached {
		return
	}
	at := h >> 32 % cacheSlots
	if c.slots[at].Load() != nil && (c.slots[at^1].Load() == nil || h>>63 != 0) {
		at ^= 1
	}
	c.slots[at].Store(&cachedWord{word: strings.Clone(word), ids: append([]int32(nil), ids...)})
}
