package agenttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// prompt is how quickly a stream must end after it was cancelled or abandoned. It is generous: a
// stream that ignores the end does not end at all, and other work may keep the machine busy.
const prompt = 20 * time.Second

// rounds is the number of times a stream is abandoned. Pooled connections stay few, while leaks
// grow with the rounds.
const rounds = 16

// abandon runs a stream rounds times. It fails if the stream is slow to end or leaves goroutines
// behind.
func abandon(ctx context.Context, f func() error) error {
	before := runtime.NumGoroutine()
	for range rounds {
		if ctx.Err() != nil {
			return fmt.Errorf("the scenario took too long: %w", context.Cause(ctx))
		}
		began := time.Now()
		if err := f(); err != nil {
			return err
		}
		if took := time.Since(began); took > prompt {
			return fmt.Errorf("the stream took %v to end", took)
		}
	}
	return settle(before + rounds)
}

// settle waits until fewer than limit goroutines are running.
func settle(limit int) error {
	deadline := time.Now().Add(prompt)
	for runtime.NumGoroutine() >= limit {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			return fmt.Errorf("goroutines were left behind:\n%s", clip(string(buf[:runtime.Stack(buf, true)])))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// canceled checks the error of a stream whose context ended with cause.
func canceled(err error, cause error, kinds ...agent.ErrorKind) error {
	var me *agent.ModelError
	if !errors.As(err, &me) {
		return fmt.Errorf("the stream ended with %v, want a *agent.ModelError", err)
	}
	for _, k := range kinds {
		if me.Kind == k && errors.Is(err, cause) {
			return nil
		}
	}
	return fmt.Errorf("the stream ended with kind %q, want one of %q, wrapping %v: %w", me.Kind, kinds, cause, err)
}

func driveCancel(ctx context.Context, m agent.Model, sc Scenario) error {
	return abandon(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var last error
		n := 0
		for _, err := range m.Stream(ctx, sc.Exchanges[0].Request(nil)) {
			last = err
			if n++; n == 1 && err == nil {
				cancel()
			}
		}
		return canceled(last, context.Canceled, agent.ErrCanceled)
	})
}

func driveCancelEarly(ctx context.Context, m agent.Model, sc Scenario) error {
	return abandon(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(10*time.Millisecond, cancel)
		defer timer.Stop()
		_, err := stream(ctx, m, sc.Exchanges[0].Request(nil))
		return canceled(err, context.Canceled, agent.ErrCanceled)
	})
}

func driveCanceledBefore(ctx context.Context, m agent.Model, sc Scenario) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	got, err := stream(ctx, m, sc.Exchanges[0].Request(nil))
	if len(got.chunks) > 0 {
		return fmt.Errorf("chunks came although the context had ended: %v", got.chunks)
	}
	return canceled(err, context.Canceled, agent.ErrCanceled)
}

func driveDeadline(ctx context.Context, m agent.Model, sc Scenario) error {
	return abandon(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := stream(ctx, m, sc.Exchanges[0].Request(nil))
		return canceled(err, context.DeadlineExceeded, agent.ErrCanceled, agent.ErrTimeout)
	})
}

func driveBreak(ctx context.Context, m agent.Model, sc Scenario) error {
	return abandon(ctx, func() error {
		for _, err := range m.Stream(ctx, sc.Exchanges[0].Request(nil)) {
			if err != nil {
				return fmt.Errorf("unexpected error: %w", err)
			}
			break
		}
		return nil
	})
}

func driveTwice(ctx context.Context, m agent.Model, sc Scenario) error {
	seq := m.Stream(ctx, sc.Exchanges[0].Request(nil))
	_ = seq // a stream that is never ranged over must have no cost
	return errors.Join(expect(ctx, m, sc), expect(ctx, m, sc))
}

func driveConcurrent(ctx context.Context, m agent.Model, sc Scenario) error {
	var wg sync.WaitGroup
	errs := make([]error, 32)
	for i := range errs {
		wg.Go(func() { errs[i] = expect(ctx, m, sc) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// driveRetryAfter also checks the waiting time in the error, and that the model itself did not
// wait.
func driveRetryAfter(low, high time.Duration) driver {
	return func(ctx context.Context, m agent.Model, sc Scenario) error {
		began := time.Now()
		_, err := stream(ctx, m, sc.Exchanges[0].Request(nil))
		if took := time.Since(began); took > prompt {
			return fmt.Errorf("the error took %v: a model must not wait or retry itself", took)
		}
		if err == nil {
			return errors.New("no error")
		}
		if e := sc.Exchanges[0].judgeError(m, err); e != nil {
			return e
		}
		if me := agent.AsModelError(err); me.RetryAfter < low || me.RetryAfter > high {
			return fmt.Errorf("RetryAfter is %v, want %v to %v", me.RetryAfter, low, high)
		}
		return nil
	}
}

// driveHuge checks that only a small part of an endless error body is read.
func driveHuge(ctx context.Context, m agent.Model, sc Scenario) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := stream(ctx, m, sc.Exchanges[0].Request(nil))
	runtime.ReadMemStats(&after)
	if err == nil {
		return errors.New("no error")
	}
	if took, sent := after.TotalAlloc-before.TotalAlloc, uint64(sc.Exchanges[0].Reply.Padding); took > sent/2 {
		return fmt.Errorf("reading an error body of %d bytes allocated %d: read only its start", sent, took)
	}
	if n := len(err.Error()); n > 64<<10 {
		return fmt.Errorf("the error's text has %d bytes", n)
	}
	return sc.Exchanges[0].judgeError(m, err)
}
