//go:build !amd64

package tensor

import "sync/atomic"

// pause idles for about n dozen cycles.
func pause(n uint32) {
	var x atomic.Uint32
	for range n {
		x.Add(1)
	}
}
