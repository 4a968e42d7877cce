package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipe copies both ways until both sides have ended, one fails, or nothing is transferred for idle.
// first was already read from the client. It closes only the writing halves.
func pipe(client, server net.Conn, first []byte, idle time.Duration) {
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	wg.Go(func() {
		if len(first) > 0 {
			_ = server.SetWriteDeadline(time.Now().Add(idle))
			if _, err := server.Write(first); err != nil {
				abort(client, server)
				return
			}
		}
		copyOne(server, client, &last, idle)
	})
	wg.Go(func() { copyOne(client, server, &last, idle) })
	wg.Wait()
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// copyOne copies one way. It passes on the end of input; a failure ends both ways.
func copyOne(dst, src net.Conn, last *atomic.Int64, idle time.Duration) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		_ = src.SetReadDeadline(time.Unix(0, last.Load()).Add(idle))
		n, err := src.Read(*buf)
		if n > 0 {
			last.Store(time.Now().UnixNano())
			_ = dst.SetWriteDeadline(time.Now().Add(idle))
			if _, err := dst.Write((*buf)[:n]); err != nil {
				abort(dst, src)
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, last.Load())) < idle:
			// The other direction transferred something meanwhile.
		case errors.Is(err, io.EOF):
			if h, ok := dst.(interface{ CloseWrite() error }); ok && h.CloseWrite() == nil {
				return
			}
			abort(dst, src)
			return
		default:
			abort(dst, src)
			return
		}
	}
}

// abort makes both directions fail immediately.
func abort(a, b net.Conn) {
	a.Close()
	b.Close()
}
