package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// pull takes jobs of a class while there are slots.
func (h *Host) pull(ctx context.Context, class string, wg *sync.WaitGroup) {
	for failures := 0; ; {
		free, ok := h.free(ctx)
		if !ok {
			return
		}
		ds, err := h.cfg.Engine.Pull(ctx, class, free)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			h.cfg.Logger.Warn("host could not pull jobs", "host", h.cfg.ID, "class", class, "error", err)
			if failures++; !backoff(ctx, failures) {
				return
			}
			continue
		}
		failures = 0
		for _, d := range ds {
			// The loops of other classes may have taken the slots meanwhile. The job then waits
			// here, and its delivery is extended like that of a running job.
			beat := h.keep(ctx, d)
			select {
			case h.slots <- struct{}{}:
				wg.Go(func() {
					defer h.giveSlot()
					defer beat()
					h.job(ctx, d)
				})
			case <-ctx.Done():
				beat()
				h.giveBack(ctx, d, 0)
			}
		}
	}
}

// free waits until a slot is free and returns the number of free slots.
func (h *Host) free(ctx context.Context) (int, bool) {
	for {
		if ctx.Err() != nil {
			return 0, false
		}
		if n := cap(h.slots) - len(h.slots); n > 0 {
			return n, true
		}
		select {
		case <-h.freed:
		case <-time.After(h.cfg.Heartbeat): // another loop may have taken the signal
		case <-ctx.Done():
		}
	}
}

func (h *Host) giveSlot() {
	<-h.slots
	select {
	case h.freed <- struct{}{}:
	default:
	}
}

// keep extends a delivery until the returned function is called.
func (h *Host) keep(ctx context.Context, d Delivery) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(h.cfg.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = d.Extend(ctx) // if it fails, the next attempt follows soon
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// job runs one delivery. It stores the result before it removes the job from the queue, so that
// neither the job nor the result is lost if the host dies at any point.
func (h *Host) job(ctx context.Context, d Delivery) {
	if d.Attempt > 1 && h.hasResult(ctx, d.Job.ID) {
		h.stats.repeated.Add(1)
		h.done(ctx, d)
		return
	}
	r := &Result{Job: d.Job.ID, Host: h.cfg.ID, Run: rand.Text(), Attempt: d.Attempt}
	most := orDefault(d.Job.MaxAttempts, DefaultMaxAttempts)
	if d.Attempt > most {
		r.Failure = fmt.Sprintf("given up after %d attempts, none of which came to an end: the hosts died, were cut off or took too long to say that they live", most)
	} else if !h.attempt(ctx, d, r, most) {
		return
	}
	if h.store(ctx, r) {
		h.done(ctx, d)
	}
}

// attempt runs the command and fills in r; it returns false if the job was returned to the queue.
func (h *Host) attempt(ctx context.Context, d Delivery, r *Result, most int) bool {
	h.stats.jobs.Add(1)
	exit, err := h.run(ctx, d.Job)
	switch {
	case ctx.Err() != nil && (err != nil || exit.Canceled):
		h.giveBack(ctx, d, 0)
		return false
	case err == nil:
		r.Exit = clip(exit)
	case errors.Is(err, ErrRefused) || d.Attempt >= most:
		r.Failure = fmt.Sprintf("could not be run, attempt %d: %v", d.Attempt, err)
		if len(r.Failure) > maxText {
			r.Failure = r.Failure[:maxText]
		}
	default:
		h.cfg.Logger.Warn("host could not run a job and gives it back", "host", h.cfg.ID, "job", d.Job.ID, "attempt", d.Attempt, "error", err)
		h.giveBack(ctx, d, time.Second<<min(d.Attempt, 6))
		return false
	}
	return true
}

// run calls the runner; a panic of the runner counts as a refusal of the job.
func (h *Host) run(ctx context.Context, job *Job) (exit *sandbox.Exit, err error) {
	defer func() {
		if p := recover(); p != nil {
			exit, err = nil, fmt.Errorf("%w: the runner panicked: %v", ErrRefused, p)
		}
	}()
	exit, err = h.cfg.Run(ctx, job)
	if err == nil && exit == nil {
		err = fmt.Errorf("%w: the runner returned neither an exit nor an error", ErrRefused)
	}
	return exit, err
}

func (h *Host) hasResult(ctx context.Context, job string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := h.cfg.Engine.Result(ctx, job)
	return err == nil // if the error is unknown, the first result still counts
}

// store keeps trying to store a result. A host that is stopping tries once more.
func (h *Host) store(ctx context.Context, r *Result) bool {
	if _, err := EncodeResult(r); err != nil {
		r.Exit, r.Failure = nil, "the command ran, but its result cannot be stored: "+err.Error()
	}
	for n := 0; ; n++ {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		first, err := h.cfg.Engine.PutResult(try, r)
		cancel()
		switch {
		case err == nil && first:
			h.stats.counted.Add(1)
			return true
		case err == nil:
			h.stats.repeated.Add(1)
			return true
		default:
			h.cfg.Logger.Warn("host could not store a result and tries again", "host", h.cfg.ID, "job", r.Job, "error", err)
		}
		if ctx.Err() != nil || !backoff(ctx, n) {
			return false
		}
	}
}

// done removes a job from the queue. If that fails, the job is delivered again, and its next host
// finds the result.
func (h *Host) done(ctx context.Context, d Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := d.Done(ctx); err != nil {
		h.cfg.Logger.Info("job could not be taken out of the queue; it will come again", "host", h.cfg.ID, "job", d.Job.ID, "error", err)
	}
}

func (h *Host) giveBack(ctx context.Context, d Delivery, after time.Duration) {
	h.stats.retried.Add(1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = d.Retry(ctx, after) // if this fails, it is redelivered anyway
}
