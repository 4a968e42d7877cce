package agent

import "time"

// retry counts the model's failures since its last complete response. It belongs to the loop's
// goroutine.
type retry struct {
	cfg      *Retry
	random   func() float64
	failures int
}

// next counts a failure and returns how long to wait before the next attempt. It returns false if
// there must be none.
func (r *retry) next(me *ModelError) (time.Duration, bool) {
	r.failures++
	if !me.Kind.Retryable() || r.failures > r.cfg.Max || me.RetryAfter > r.cfg.MaxWait {
		return 0, false
	}
	delay := min(r.cfg.Base, r.cfg.Cap)
	for i := 1; i < r.failures && delay < r.cfg.Cap; i++ {
		delay = min(2*delay, r.cfg.Cap)
	}
	delay = delay/2 + time.Duration(r.random()*float64(delay)/2)
	return max(delay, me.RetryAfter), true
}
