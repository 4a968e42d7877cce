package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// maxPipe bounds what is read after the process has ended: the capacity of the largest pipe that an
// ordinary user can have. Everything that the process itself wrote fits in it.
const maxPipe = 1 << 20

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// stream reads one output pipe of a command.
type stream struct {
	r     *os.File
	cap   *capture
	on    func(Stream, []byte)
	which Stream
	hint  *hint // nil if nothing is protected
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
	if s.hint != nil {
		s.hint.see(s.which, p)
	}
	if s.on != nil {
		s.on(s.which, p)
	}
}

// rest reads what is in the pipe now, without waiting for more. On a busy host a deadline may pass
// before this process gets to read, so only rest ensures that the output of an ended process is
// complete.
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

// finish returns once the reader has ended; it passes a pipe that another process still holds to
// adopt.
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

// finishBlocking is finish for hosts whose pipes have no deadlines.
func (s *stream) finishBlocking() {
	t := time.NewTimer(10 * drainGrace)
	defer t.Stop()
	select {
	case <-s.done:
		s.r.Close()
	case <-t.C:
		// Closing may itself wait for the read, so it is done in another goroutine.
		go s.r.Close()
	}
}
