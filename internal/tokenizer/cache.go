package tokenizer

import "sync/atomic"

// cacheSlots is how many words a cache holds.
const cacheSlots = 1 << 15

// longestCached is the number of bytes up to which a word is kept.
const longestCached = 64

// wordCache remembers the tokens of words that are not pieces. A word has one slot, chosen by its hash, and pushes out
// what was there; so the cache is bounded, needs no lock, and can be used by any number of goroutines.
type wordCache struct {
	slots [cacheSlots]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

// get finds a word by its hash and text.
func (c *wordCache) get(h uint64, word string) ([]int32, bool) {
	if e := c.slots[h>>32%cacheSlots].Load(); e != nil && e.word == word {
		return e.ids, true
	}
	return nil, false
}

// put remembers a word; it keeps copies.
func (c *wordCache) put(h uint64, word string, ids []int32) {
	if len(word) > longestCached {
		return
	}
	c.slots[h>>32%cacheSlots].Store(&cachedWord{word: string([]byte(word)), ids: append([]int32(nil), ids...)})
}
