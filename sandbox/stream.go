package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// maxPipe bounds what is read after the process has ended: the largest pipe an
// ordinary user can have. All that the process itself wrote fits in it.
const maxPipe = 1 << 20

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// stream reads one output pipe of a command.
type stream struct {
	r     *os.File
	cap   *capture
	on    func(Stream, []byte)
	which Stream
	done  chan struct{}
	eof   bool // valid once done is closed

	bounded bool
}

func newStream(r *os.File, c *capture, on func(Stream, []byte), which Stream) *stream {
	return &stream{r: r, cap: c, on: on, which: which, done: make(chan struct{})}
}

func (s *stream) start() { go s.read() }

func (s *stream) read() {
	defer close(s.done)
	buf := bufferPool.Get().(*[]byte)
	defer bufferPool.Put(buf)
	for {
		n, err := s.r.Read(*buf)
		s.take((*buf)[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.rest(*buf)
			return
		}
		if err != nil {
			s.eof = errors.Is(err, io.EOF)
			return
		}
	}
}

func (s *stream) take(p []byte) {
	if len(p) == 0 {
		return
	}
	s.cap.write(p)
	if s.on != nil {
		s.on(s.which, p)
	}
}

// rest takes what is in the pipe now, without waiting for more. A deadline may
// have passed before a busy host let us read, so this is what makes the output
// of an ended process complete.
func (s *stream) rest(buf []byte) {
	if s.r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for total := 0; total < maxPipe; {
		n, err := readNow(s.r, buf)
		s.take(buf[:max(n, 0)])
		total += n
		if n <= 0 || err != nil {
			s.eof = n == 0 && err == nil
			return
		}
	}
}

// hurry is called when the process has ended: it bounds the wait for the rest.
func (s *stream) hurry() { s.bounded = s.r.SetReadDeadline(time.Now().Add(drainGrace)) == nil }

// finish returns with the reader gone; a pipe that another process still holds
// is given to adopt.
func (s *stream) finish(adopt func(*os.File)) {
	if !s.bounded {
		s.finishBlocking()
		return
	}
	<-s.done
	if s.eof {
		s.r.Close()
		return
	}
	adopt(s.r)
}

// finishBlocking serves hosts whose pipes know no deadline.
func (s *stream) finishBlocking() {
	t := time.NewTimer(10 * drainGrace)
	defer t.Stop()
	select {
	case <-s.done:
		s.r.Close()
	case <-t.C:
		// Closing may itself wait for the read, which is why it must not be here.
		go s.r.Close()
	}
}
