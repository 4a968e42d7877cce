package fleet

import (
	"context"
	"errors"
	"iter"

	"github.com/nats-io/nats.go/jetstream"
)

// PutResult implements Results.
func (e *natsEngine) PutResult(ctx context.Context, r *Result) (bool, error) {
	b, err := EncodeResult(r)
	if err != nil {
		return false, fail("put result of job", r.Job, err)
	}
	_, err = e.results.Create(ctx, r.Job, b)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, jetstream.ErrKeyExists) && !isConflict(err) {
		return false, fail("put result of job", r.Job, err)
	}
	// The existing result may be ours, written by an attempt whose answer was lost.
	entry, err := e.results.Get(ctx, r.Job)
	if err != nil {
		return false, fail("put result of job", r.Job, err)
	}
	return sameResult(entry.Value(), r), nil
}

// Result implements Results.
func (e *natsEngine) Result(ctx context.Context, job string) (*Result, error) {
	if err := ValidName("job", job); err != nil {
		return nil, fail("get result of", "job", err)
	}
	entry, err := e.results.Get(ctx, job)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNoResult
	}
	if err != nil {
		return nil, fail("get result of job", job, err)
	}
	return DecodeResult(entry.Value())
}

// WatchResults implements Results.
func (e *natsEngine) WatchResults(ctx context.Context, job string) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		keys := job
		if job == "" {
			keys = ">"
		} else if err := ValidName("job", job); err != nil {
			yield(nil, fail("watch results of", "job", err))
			return
		}
		w, err := e.results.Watch(ctx, keys, jetstream.IgnoreDeletes())
		if err != nil {
			yield(nil, fail("watch results of", "jobs", err))
			return
		}
		defer w.Stop()
		for {
			select {
			case entry, ok := <-w.Updates():
				if !ok {
					yield(nil, fail("watch results of", "jobs", errors.Join(ErrClosed, context.Cause(ctx))))
					return
				}
				if entry == nil { // all existing results have been delivered
					continue
				}
				r, err := DecodeResult(entry.Value())
				if !yield(r, err) || err != nil {
					return
				}
			case <-ctx.Done():
				yield(nil, fail("watch results of", "jobs", context.Cause(ctx)))
				return
			}
		}
	}
}
