package fleet

import (
	"context"
	"errors"
	"time"
)

// localClass is the queue of one class.
type localClass struct {
	ready []*localJob
	wake  chan struct{} // closed and replaced when ready grows
}

// localJob is a job that waits or has been delivered.
type localJob struct {
	id, class string
	body      []byte
	attempt   int
	delivery  int         // increases with every hand-over, to detect late answers
	timer     *time.Timer // ends a delivery or a delay
}

func (j *localJob) stopTimer() {
	if j.timer != nil {
		j.timer.Stop()
	}
}

// Submit implements Queue.
func (e *localEngine) Submit(_ context.Context, job *Job) error {
	body, err := EncodeJob(job)
	if err != nil {
		return fail("submit job", job.ID, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return fail("submit job", job.ID, ErrClosed)
	case e.jobs[job.ID] != nil:
		return fail("submit job", job.ID, ErrDuplicate)
	case len(e.jobs) >= e.cfg.MaxQueue:
		return fail("submit job", job.ID, ErrQueueFull)
	}
	j := &localJob{id: job.ID, class: job.Class, body: body}
	e.jobs[j.id] = j
	e.enqueue(j)
	return nil
}

// class returns the queue of a class. The caller holds the lock.
func (e *localEngine) class(name string) *localClass {
	c := e.classes[name]
	if c == nil {
		c = &localClass{wake: make(chan struct{})}
		e.classes[name] = c
	}
	return c
}

// enqueue makes a job ready and wakes waiting hosts. The caller holds the lock.
func (e *localEngine) enqueue(j *localJob) {
	j.delivery++
	c := e.class(j.class)
	c.ready = append(c.ready, j)
	close(c.wake)
	c.wake = make(chan struct{})
}

// Pull implements Queue.
func (e *localEngine) Pull(ctx context.Context, class string, most int) ([]Delivery, error) {
	if most < 1 {
		return nil, fail("pull jobs of", class, errors.New("most must be at least 1"))
	}
	for {
		e.mu.Lock()
		c := e.class(class)
		var out []Delivery
		for len(c.ready) > 0 && len(out) < most && !e.closed && ctx.Err() == nil {
			j := c.ready[0]
			c.ready = c.ready[1:]
			out = append(out, e.deliver(j))
		}
		wake := c.wake
		e.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, fail("pull jobs of", class, context.Cause(ctx))
		case <-e.done:
			return nil, fail("pull jobs of", class, ErrClosed)
		}
	}
}

// deliver hands out a job for the acknowledgement time. The caller holds the lock.
func (e *localEngine) deliver(j *localJob) Delivery {
	j.attempt++
	j.delivery++
	r := &localReceipt{e: e, job: j, delivery: j.delivery}
	e.redeliverAfter(j, e.cfg.AckWait)
	job, err := DecodeJob(j.body)
	if err != nil {
		panic("fleet: a job was stored that does not decode: " + err.Error()) // Submit encoded it
	}
	return Delivery{Job: job, Attempt: j.attempt, Receipt: r}
}

// redeliverAfter makes a job ready again after a while, unless it is delivered again or done
// before. The caller holds the lock.
func (e *localEngine) redeliverAfter(j *localJob, d time.Duration) {
	j.stopTimer()
	delivery := j.delivery
	j.timer = time.AfterFunc(d, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if j.delivery == delivery && e.jobs[j.id] == j && !e.closed {
			e.enqueue(j)
		}
	})
}

// localReceipt acknowledges one delivery.
type localReceipt struct {
	e        *localEngine
	job      *localJob
	delivery int
}

// with runs f under the lock if the delivery is still the current one. A late answer is not an
// error, just as over a network.
func (r *localReceipt) with(f func()) error {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	if r.e.closed {
		return fail("answer for job", r.job.id, ErrClosed)
	}
	if r.job.delivery == r.delivery {
		f()
	}
	return nil
}

func (r *localReceipt) Extend(context.Context) error {
	return r.with(func() { r.e.redeliverAfter(r.job, r.e.cfg.AckWait) })
}

// Done removes the job even if it already waits to be delivered again, since it is done.
func (r *localReceipt) Done(context.Context) error {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	if r.e.closed {
		return fail("answer for job", r.job.id, ErrClosed)
	}
	if r.e.jobs[r.job.id] != r.job {
		return nil
	}
	r.job.stopTimer()
	r.job.delivery++
	delete(r.e.jobs, r.job.id)
	c := r.e.class(r.job.class)
	for i, j := range c.ready {
		if j == r.job {
			c.ready = append(c.ready[:i], c.ready[i+1:]...)
			break
		}
	}
	return nil
}

func (r *localReceipt) Retry(_ context.Context, after time.Duration) error {
	return r.with(func() {
		if after > 0 {
			r.job.delivery++
			r.e.redeliverAfter(r.job, after)
			return
		}
		r.job.stopTimer()
		r.e.enqueue(r.job)
	})
}
