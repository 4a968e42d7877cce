package coding

import (
	"io"
	"sync/atomic"
	"time"
)

// rgSilence limits the time without output of ripgrep. Then the built-in search takes its place.
// ripgrep waits for ever for a FIFO that is named .gitignore, and reads all of a link to /dev/zero.
const rgSilence = 15 * time.Second

// rgMemory limits the memory of ripgrep, in bytes. What it needs is far less.
const rgMemory = 2 << 30

// heardReader calls end if a single read takes too long.
type heardReader struct {
	r      io.Reader
	max    time.Duration
	end    func()
	silent atomic.Bool
}

func (h *heardReader) Read(b []byte) (int, error) {
	timer := time.AfterFunc(h.max, func() {
		h.silent.Store(true)
		h.end()
	})
	defer timer.Stop()
	return h.r.Read(b)
}
