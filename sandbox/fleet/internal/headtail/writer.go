// Package headtail keeps the beginning and the end of the written data.
package headtail

import (
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
)

// Writer keeps at most Limit bytes: half from the head, half from the tail. Writing never fails.
// The zero value keeps no bytes.
type Writer struct {
	Limit int

	mu    sync.Mutex
	head  []byte
	tail  []byte
	total int64
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	w.total += int64(n)
	if room := w.Limit - w.Limit/2 - len(w.head); room > 0 {
		k := min(room, len(p))
		w.head = append(w.head, p[:k]...)
		p = p[k:]
	}
	half := w.Limit / 2
	if len(p) > half {
		p = p[len(p)-half:]
	}
	w.tail = append(w.tail, p...)
	if len(w.tail) > 2*half { // moved rarely, so that many small writes stay cheap
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-half:]...)
	}
	return n, nil
}

// Output returns the data that was kept.
func (w *Writer) Output() sandbox.Output {
	w.mu.Lock()
	defer w.mu.Unlock()
	tail := w.tail
	if half := w.Limit / 2; len(tail) > half {
		tail = tail[len(tail)-half:]
	}
	return sandbox.Output{Head: append([]byte(nil), w.head...), Tail: append([]byte(nil), tail...), Total: w.total}
}
