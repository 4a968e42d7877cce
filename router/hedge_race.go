package router

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// race is one call of a [Hedge]. The first request runs on the caller's goroutine, so that an
// answer that is not slow is passed on directly, without overhead. The second runs on a separate
// goroutine and hands over its chunks as the caller takes them.
type race struct {
	chain
	h      *Hedge
	first  *member
	second *member
	mine   bool // the first request has won; used only by its goroutine
	left   bool // the second request was abandoned; used only by the first request's goroutine

	mu      sync.Mutex
	winner  int                     // 1 or 2; 0 while no answer has begun
	over    bool                    // no second request may be sent any more
	cancel1 context.CancelCauseFunc // of the first
	cancel2 context.CancelCauseFunc // of the second; nil until it is sent
	ctx2    context.Context         // context of the second attempt
	chunks  chan agent.Chunk        // of the second, if it wins
	done    chan struct{}           // closed when the second has ended
	err2    *agent.ModelError
}

var (
	errOutrun    = errors.New("router: hedge: another request began to answer first")
	errAbandoned = errors.New("router: hedge: the request did not end when it was cancelled")
)

func (r *race) run() outcome {
	h := r.h
	h.earn()
	begin := 0
	if !h.broken.empty() {
		begin = h.broken.find(sessionKey(r.req), h.now()) + 1
	}
	r.first = r.pick(begin)
	if r.first == nil {
		return r.chain.run(h.members, begin)
	}
	after, ok := h.After(r.first.index)
	if !ok {
		return r.chain.run(h.members, begin)
	}
	r.second = r.pick(r.first.index + 1)
	if r.second == nil { // another call has blocked the first member since
		return r.chain.run(h.members, begin)
	}
	var ctx context.Context
	ctx, r.cancel1 = context.WithCancelCause(r.ctx)
	defer r.cancel1(nil)
	defer r.stop() // even if the reader panics
	if h.cfg.AfterFunc != nil {
		defer h.cfg.AfterFunc(after, r.hedge)()
	} else {
		defer time.AfterFunc(after, r.hedge).Stop()
	}
	return r.ask(ctx)
}

// pick returns the first available member, starting with the one at begin, or nil if there is none.
func (r *race) pick(begin int) *member {
	for i := range r.h.members {
		if m := r.h.members[(begin+i)%len(r.h.members)]; r.passOver(m) == nil {
			return m
		}
	}
	return nil
}

// ask sends the first request and follows the race to its end.
func (r *race) ask(ctx context.Context) outcome {
	r.n, r.last = 1, r.first
	a := &r.now
	r.pool.beginIn(ctx, a, r.first, r.req, "first choice", 1)
	err := a.stream(r.pass)
	r.h.ended(a)
	winner, sent := r.close()
	if winner == 2 {
		a.err = &agent.ModelError{Kind: agent.ErrCanceled, Err: errOutrun}
	}
	if winner == 1 {
		r.stop() // the loser's end is reported before the winner's
	}
	a.end(winner == 1)
	switch {
	case winner == 1 && a.left:
		return outcomeLeft
	case winner == 1 && err == nil:
		return outcomeAnswered
	case winner == 1:
		return r.broke(err)
	case winner == 2 || sent:
		if winner == 0 {
			r.failed.add(r.first, err)
		}
		return r.follow()
	}
	r.failed.add(r.first, err)
	return r.others()
}

// close marks the first request as ended, after which no second one is sent. It returns the winner
// so far and whether a second request was sent.
func (r *race) close() (winner int, sent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.winner, r.done != nil
}

// others asks the members that took no part in the race.
func (r *race) others() outcome {
	if r.ctx.Err() != nil {
		r.yield(nil, callerEnded(r.ctx, r.failed.list[len(r.failed.list)-1].err))
		return outcomeFailed
	}
	r.skip[0] = r.first
	return r.chain.run(r.h.members, r.first.index+1)
}

// pass passes on a chunk of the first request if that request has won.
func (r *race) pass(c agent.Chunk, err error) bool {
	if !r.mine && !r.claim(1) {
		return false
	}
	r.mine = true
	return r.yield(c, err)
}

// claim makes request n the winner, unless the other request has already won, and cancels the other
// request.
func (r *race) claim(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.winner != 0 {
		return r.winner == n
	}
	r.winner, r.over = n, true
	switch {
	case n == 2:
		r.cancel1(errOutrun)
	case r.cancel2 != nil:
		r.cancel2(errOutrun)
	}
	return true
}

// hedge sends the second request. It runs on its own goroutine.
func (r *race) hedge() {
	r.mu.Lock()
	if r.over || !r.h.spend() {
		r.mu.Unlock()
		return
	}
	r.over = true
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	r.cancel2, r.chunks, r.done = cancel, make(chan agent.Chunk), make(chan struct{})
	r.mu.Unlock()
	defer close(r.done)

	a := r.pool.begin(ctx, r.second, r.req, "the first request to "+r.first.Name+" is slow to begin", 2)
	r.mu.Lock()
	r.ctx2 = a.ctx
	r.mu.Unlock()
	mine := false
	err := a.stream(func(c agent.Chunk, _ error) bool {
		if !mine && !r.claim(2) {
			return false
		}
		mine = true
		select {
		case r.chunks <- c:
			return true
		case <-ctx.Done():
			return false
		}
	})
	r.h.ended(a)
	if a.left { // the second request lost, or nobody takes its chunks any more
		err = &agent.ModelError{Kind: agent.ErrCanceled, Err: cmp.Or(context.Cause(ctx), errOutrun)}
		a.err = err
	}
	a.end(mine)
	r.err2 = err
}

// follow passes on the answer of the second request, which has won or is the only one left.
func (r *race) follow() outcome {
	for open := true; open; {
		select {
		case c := <-r.chunks:
			if !r.yield(c, nil) {
				r.stop()
				return outcomeLeft
			}
		case <-r.done:
			open = false
		}
	}
	r.n, r.last = 2, r.second
	winner, _ := r.close()
	switch {
	case r.err2 == nil:
		return outcomeAnswered
	case winner == 2:
		return r.broke(r.err2)
	}
	r.failed.add(r.second, r.err2)
	r.skip[1] = r.second
	return r.others()
}

// stop ends the second request, if one was sent, and waits for it. If the model does not end
// although its context has ended, stop abandons it after a while and estimates its usage.
func (r *race) stop() {
	r.mu.Lock()
	r.over = true
	cancel, done := r.cancel2, r.done
	r.mu.Unlock()
	if done == nil || r.left {
		return
	}
	cancel(errOutrun)
	select {
	case <-done:
		return
	default:
	}
	patience := time.NewTimer(r.h.cfg.Grace)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		r.left = true
		r.mu.Lock()
		ctx := r.ctx2
		r.mu.Unlock()
		if ctx != nil {
			agent.EndRoute(ctx, r.guess())
		}
	}
}

// guess returns the report for a request that was abandoned.
func (r *race) guess() agent.Routed {
	d := demandOf(r.req)
	out := agent.Routed{Usage: agent.Usage{Input: int64(d.tokens - r.req.MaxOutput)}, Duration: r.h.cfg.Grace, Err: errAbandoned, Estimated: true}
	if p := r.second.Price; p != nil {
		out.MicroDollars = p.Cost(out.Usage)
	}
	return out
}
