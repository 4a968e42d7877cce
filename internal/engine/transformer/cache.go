package transformer

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// PageTokens is the number of tokens whose keys and values one page of a Cache holds.
const PageTokens = tensor.TileTokens

// CacheConfig sets the size and precision of a Cache.
type CacheConfig struct {
	Type  gguf.Type // of keys and values: F16 for everyday use, Q8_0 for half the memory, F32 for exact comparison
	Pages int       // number of pages of PageTokens tokens
}

// Cache holds keys and values of all layers in pages that sequences share by reference counts.
// It is not safe for concurrent use.
type Cache struct {
	layout    tensor.TileLayout
	typ       gguf.Type
	layers    int
	kvHeads   int
	pageBytes int
	arena     *tensor.Arena
	data      []byte
	refs      []int32
	free      []int32
}

// NewCache allocates the pages of a cache for the network n. It returns an error if they do not fit
// into the available memory.
func NewCache(n *Network, cfg CacheConfig) (*Cache, error) {
	if cfg.Pages < 1 {
		return nil, fmt.Errorf("transformer: make cache: %d pages; at least one is needed", cfg.Pages)
	}
	layout, err := tensor.NewTileLayout(cfg.Type, n.hyper.HeadDim)
	if err != nil {
		return nil, fmt.Errorf("transformer: make cache: %w", err)
	}
	c := &Cache{layout: layout, typ: cfg.Type, layers: n.hyper.Layers, kvHeads: n.hyper.KVHeads}
	c.pageBytes = c.layers * c.kvHeads * layout.Bytes()
	total, err := checkRoom("the key-value cache", int64(c.pageBytes), int64(cfg.Pages))
	if err != nil {
		return nil, fmt.Errorf("transformer: make cache: %w", err)
	}
	c.arena = tensor.NewArena(total)
	c.data = c.arena.Alloc(total)
	c.refs = make([]int32, cfg.Pages)
	c.free = make([]int32, cfg.Pages)
	for i := range c.free {
		c.free[i] = int32(cfg.Pages - 1 - i)
	}
	return c, nil
}

// Close frees the memory. The cache must not be used afterwards.
func (c *Cache) Close() error { return c.arena.Close() }

// Exact reports whether keys and values are stored without loss of precision.
func (c *Cache) Exact() bool { return c.typ == gguf.TypeF32 }

// Pages returns the number of pages in the cache.
func (c *Cache) Pages() int { return len(c.refs) }

// Free returns the number of pages without references.
func (c *Cache) Free() int { return len(c.free) }

// Bytes returns the size of the pages in bytes.
func (c *Cache) Bytes() int { return len(c.data) }

// Alloc returns a page with one reference. It returns false if all pages have references.
func (c *Cache) Alloc() (int32, bool) {
	if len(c.free) == 0 {
		return 0, false
	}
	page := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.refs[page] = 1
	return page, true
}

// Retain adds a reference to a page that has at least one.
func (c *Cache) Retain(page int32) {
	if c.refs[page] < 1 {
		panic(fmt.Sprintf("transformer: retain page %d, which nobody holds", page))
	}
	c.refs[page]++
}

// Release removes a reference. A page without references is free again.
func (c *Cache) Release(page int32) {
	if c.refs[page] < 1 {
		panic(fmt.Sprintf("transformer: release page %d, which nobody holds", page))
	}
	if c.refs[page]--; c.refs[page] == 0 {
		c.free = append(c.free, page)
	}
}

// Refs returns the number of references to a page.
func (c *Cache) Refs(page int32) int { return int(c.refs[page]) }

// Copy copies the keys and values of page src to page dst, so that a sequence can continue a page
// that it shares with others.
func (c *Cache) Copy(dst, src int32) {
	copy(c.page(dst), c.page(src))
}

func (c *Cache) page(i int32) []byte {
	at := int(i) * c.pageBytes
	return c.data[at : at+c.pageBytes : at+c.pageBytes]
}

// tile returns the keys and values of one page, layer and key-value head.
func (c *Cache) tile(page int32, layer, head int) []byte {
	n := c.layout.Bytes()
	at := int(page)*c.pageBytes + (layer*c.kvHeads+head)*n
	return c.data[at : at+n : at+n]
}
