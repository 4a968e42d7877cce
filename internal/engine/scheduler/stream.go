package scheduler

import (
	"context"
	"sync"
	"sync/atomic"
)

// stream carries tokens from the scheduler to the only reader of a request. The scheduler never
// waits for the reader: it buffers what the reader has not taken yet, at most a full context of
// tokens.
type stream struct {
	ctx       context.Context
	cancelled atomic.Bool
	notify    chan struct{} // contains a value if there are items to take

	mu    sync.Mutex
	items []Token
	err   error
	ended bool
}

func newStream(ctx context.Context) *stream {
	return &stream{ctx: ctx, notify: make(chan struct{}, 1)}
}

// gone reports whether the reader no longer wants the rest.
func (s *stream) gone() bool { return s.cancelled.Load() || s.ctx.Err() != nil }

// send appends items to the stream, and ends it if ended is set.
func (s *stream) send(items []Token, ended bool, err error) {
	s.mu.Lock()
	s.items = append(s.items, items...)
	s.ended, s.err = s.ended || ended, err
	s.mu.Unlock()
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// take waits for items and swaps them with the reader's buffer.
func (s *stream) take(buf []Token) (items []Token, ended bool, err error) {
	for {
		s.mu.Lock()
		if len(s.items) > 0 || s.ended {
			items, s.items = s.items, buf[:0]
			ended, err = s.ended, s.err
			s.mu.Unlock()
			return items, ended, err
		}
		s.mu.Unlock()
		select {
		case <-s.notify:
		case <-s.ctx.Done():
			return nil, true, context.Cause(s.ctx)
		}
	}
}
