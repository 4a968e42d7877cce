package egress

import (
	"io"
	"net"
	"time"
)

// idle ends an exchange when nothing is transferred in either direction for a while.
type idle struct {
	timer *time.Timer
	after time.Duration
}

// newIdle calls end, and makes c fail, once nothing has been transferred for d.
func newIdle(c net.Conn, d time.Duration, end func()) *idle {
	return &idle{after: d, timer: time.AfterFunc(d, func() {
		end()
		_ = c.SetDeadline(time.Unix(1, 0))
	})}
}

func (i *idle) stop() { i.timer.Stop() }

func (i *idle) moved(n int) {
	if n > 0 && i.timer.Stop() {
		i.timer.Reset(i.after)
	}
}

func (i *idle) reader(r io.ReadCloser) io.ReadCloser { return idleReader{r, i} }
func (i *idle) writer(w io.Writer) io.Writer         { return idleWriter{w, i} }

type idleReader struct {
	io.ReadCloser
	i *idle
}

func (r idleReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.i.moved(n)
	return n, err
}

type idleWriter struct {
	w io.Writer
	i *idle
}

func (w idleWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.i.moved(n)
	return n, err
}
