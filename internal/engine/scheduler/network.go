package scheduler

import "github.com/luthier-dev/luthier/internal/engine/transformer"

// netForwarder adapts a network and its cache to the forwarder interface.
type netForwarder struct {
	n *transformer.Network
	c *transformer.Cache
}

func (f netForwarder) forward(slices []transformer.Slice) error { return f.n.Forward(f.c, slices) }
func (f netForwarder) logits(i int) []float32                   { return f.n.Logits(i) }
func (f netForwarder) vocab() int                               { h := f.n.Hyper(); return h.Vocab }
func (f netForwarder) pages() int                               { return f.c.Pages() }
func (f netForwarder) alloc() (int32, bool)                     { return f.c.Alloc() }
func (f netForwarder) retain(page int32)                        { f.c.Retain(page) }
func (f netForwarder) release(page int32)                       { f.c.Release(page) }
func (f netForwarder) refs(page int32) int                      { return f.c.Refs(page) }
func (f netForwarder) free() int                                { return f.c.Free() }
func (f netForwarder) copyPage(dst, src int32)                  { f.c.Copy(dst, src) }

// Close frees the memory of the cache.
func (f netForwarder) Close() error { return f.c.Close() }
