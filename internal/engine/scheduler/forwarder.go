package scheduler

import "github.com/luthier-dev/luthier/internal/engine/transformer"

// forwarder is the scheduler's interface to a network and its cache. Only the scheduler's goroutine
// calls it.
type forwarder interface {
	forward(slices []transformer.Slice) error
	logits(i int) []float32
	vocab() int
	pages() int
	alloc() (int32, bool)
	retain(page int32)
	release(page int32)
	refs(page int32) int
	free() int
	copyPage(dst, src int32)
}
