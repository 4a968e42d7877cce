package vectors

import (
	"context"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

// pace limits the rate of work.
type pace struct {
	rate float64 // per second; 0 for no limit

	mu   sync.Mutex
	next time.Time // when the next piece of work may begin
}

func newPace(rate float64) *pace { return &pace{rate: rate} }

// wait returns when n more pieces of work may begin, or when ctx ends.
func (p *pace) wait(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.rate <= 0 {
		return nil
	}
	return wait.For(ctx, time.Until(p.take(n)))
}

// take returns the time at which n pieces of work may begin, and delays later work accordingly.
func (p *pace) take(n int) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin := p.next
	if now := time.Now(); begin.Before(now) {
		begin = now
	}
	p.next = begin.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return begin
}
