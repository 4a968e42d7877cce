package fleet_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

var errFlaky = errors.New("the link is down")

// flaky is an engine whose operations sometimes fail, half of them after they were carried out. The
// failures depend only on the seed and the order of calls.
type flaky struct {
	fleet.Engine
	mu sync.Mutex
	r  *rand.Rand
}

func newFlaky(e fleet.Engine, seed uint64) *flaky {
	return &flaky{Engine: e, r: rand.New(rand.NewPCG(seed, 1))}
}

func (f *flaky) try(op func() error) error {
	f.mu.Lock()
	fate := f.r.IntN(10)
	f.mu.Unlock()
	switch fate {
	case 0:
		return errFlaky
	case 1:
		_ = op()
		return errFlaky
	}
	return op()
}

func (f *flaky) Submit(ctx context.Context, j *fleet.Job) error {
	return f.try(func() error { return f.Engine.Submit(ctx, j) })
}

func (f *flaky) Pull(ctx context.Context, class string, most int) (out []fleet.Delivery, err error) {
	err = f.try(func() (err error) { out, err = f.Engine.Pull(ctx, class, most); return err })
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Receipt = flakyReceipt{f, out[i].Receipt}
	}
	return out, nil
}

func (f *flaky) PutResult(ctx context.Context, r *fleet.Result) (first bool, err error) {
	err = f.try(func() (err error) { first, err = f.Engine.PutResult(ctx, r); return err })
	return first && err == nil, err
}

func (f *flaky) Result(ctx context.Context, id string) (r *fleet.Result, err error) {
	err = f.try(func() (err error) { r, err = f.Engine.Result(ctx, id); return err })
	return r, err
}

func (f *flaky) Acquire(ctx context.Context, want fleet.Lease) (l fleet.Lease, err error) {
	return f.Engine.Acquire(ctx, want)
}

func (f *flaky) Renew(ctx context.Context, old fleet.Lease) (l fleet.Lease, err error) {
	err = f.try(func() (err error) { l, err = f.Engine.Renew(ctx, old); return err })
	return l, err
}

func (f *flaky) Current(ctx context.Context, key string) (l fleet.Lease, err error) {
	err = f.try(func() (err error) { l, err = f.Engine.Current(ctx, key); return err })
	return l, err
}

func (f *flaky) Call(ctx context.Context, host string, b []byte) (a []byte, err error) {
	err = f.try(func() (err error) { a, err = f.Engine.Call(ctx, host, b); return err })
	return a, err
}

type flakyReceipt struct {
	f *flaky
	r fleet.Receipt
}

func (r flakyReceipt) Extend(ctx context.Context) error {
	return r.f.try(func() error { return r.r.Extend(ctx) })
}
func (r flakyReceipt) Done(ctx context.Context) error {
	return r.f.try(func() error { return r.r.Done(ctx) })
}
func (r flakyReceipt) Retry(ctx context.Context, after time.Duration) error {
	return r.f.try(func() error { return r.r.Retry(ctx, after) })
}
