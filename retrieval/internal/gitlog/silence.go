package gitlog

import (
	"context"
	"errors"
	"io"
	"time"
)

// maxSilence is how long git may print nothing. It prints commits as it finds them, which takes
// seconds in the largest repositories.
const maxSilence = 2 * time.Minute

// errSilent means that git was ended. It waits for ever if a file of the repository has become a
// FIFO.
var errSilent = errors.New("git was silent for too long, so it was ended; a file of the repository may be a FIFO")

// silence ends a context if nothing is read for some time.
type silence struct {
	max   time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// watch returns a context that ends if git is silent for too long.
func (g *gitSource) watch(ctx context.Context) (context.Context, *silence) {
	ctx, end := context.WithCancelCause(ctx)
	s := &silence{max: g.silence, end: end}
	s.timer = time.AfterFunc(s.max, func() { end(errSilent) })
	return ctx, s
}

func (s *silence) stop() {
	s.timer.Stop()
	s.end(nil)
}

// reader returns a reader of r that notes what it reads.
func (s *silence) reader(r io.Reader) io.Reader { return &heard{r, s} }

type heard struct {
	r io.Reader
	s *silence
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	if n > 0 {
		h.s.timer.Reset(h.s.max)
	}
	return n, err
}
