package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Submit implements Queue. Every job has a separate subject, so that the server can check
// atomically that the subject has no message.
func (e *natsEngine) Submit(ctx context.Context, job *Job) error {
	body, err := EncodeJob(job)
	if err != nil {
		return fail("submit job", job.ID, err)
	}
	// The class is part of the subject; a job waits in one class only.
	msg := &nats.Msg{Subject: e.workSubject(job.Class, job.ID), Data: body, Header: nats.Header{}}
	_, err = e.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0))
	switch {
	case isConflict(err):
		err = ErrDuplicate
	case isFull(err):
		err = ErrQueueFull
	}
	if err != nil {
		return fail("submit job", job.ID, err)
	}
	return nil
}

// consumer returns the single pull consumer of a class, which all its hosts share.
func (e *natsEngine) consumer(ctx context.Context, class string) (jetstream.Consumer, error) {
	if err := ValidName("class", class); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.consumers[class]; c != nil {
		return c, nil
	}
	c, err := e.work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "class_" + class, FilterSubject: e.workSubject(class, "*"),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: e.cfg.AckWait,
		MaxDeliver: -1, // the host gives up a job, with a result that states this
		// The hosts' slots limit the running jobs; the queue must not limit them as well.
		MaxAckPending: -1,
	})
	if err == nil {
		e.consumers[class] = c
	}
	return c, err
}

// forget drops a consumer that the server may no longer know.
func (e *natsEngine) forget(class string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.consumers, class)
}

// pullWait limits the duration of one request to the server, so that a deleted consumer or a
// replaced server is noticed.
const pullWait = 5 * time.Second

// Pull implements Queue. It returns the jobs that are ready, or else waits for the next one to
// arrive.
func (e *natsEngine) Pull(ctx context.Context, class string, most int) ([]Delivery, error) {
	if most < 1 {
		return nil, fail("pull jobs of", class, errors.New("most must be at least 1"))
	}
	for {
		c, err := e.consumer(ctx, class)
		if err != nil {
			return nil, fail("pull jobs of", class, err)
		}
		batch, err := c.FetchNoWait(most)
		out, err := e.collect(ctx, batch, err)
		if len(out) > 0 {
			return out, nil
		}
		if err == nil {
			// The library's goroutine also ends with ctx, but the deadline of ctx may come before
			// the library's heartbeats.
			wait, done := context.WithTimeout(context.WithoutCancel(ctx), pullWait)
			stop := context.AfterFunc(ctx, done)
			batch, err = c.Fetch(1, jetstream.FetchContext(wait), jetstream.FetchHeartbeat(time.Second))
			if out, err = e.collect(ctx, batch, err); errors.Is(err, context.DeadlineExceeded) {
				err = nil // no job arrived
			}
			stop()
			done()
		}
		switch {
		case len(out) > 0:
			return out, nil
		case ctx.Err() != nil:
			return nil, fail("pull jobs of", class, context.Cause(ctx))
		case err != nil:
			e.forget(class)
			return nil, fail("pull jobs of", class, err)
		}
	}
}

// collect reads a batch to its end, or until ctx ends. Jobs that arrive after that are returned to
// the queue.
func (e *natsEngine) collect(ctx context.Context, batch jetstream.MessageBatch, err error) ([]Delivery, error) {
	if err != nil {
		return nil, err
	}
	var out []Delivery
	for {
		select {
		case msg, ok := <-batch.Messages():
			if !ok {
				return out, batch.Error()
			}
			if d, ok := e.delivery(ctx, msg); ok {
				out = append(out, d)
			}
		case <-ctx.Done():
			go func() { // ends with the batch, after pullWait at the latest
				for msg := range batch.Messages() {
					_ = msg.Nak()
				}
			}()
			return out, nil
		}
	}
}

// delivery reads a message. For a message that is not a valid job, it stores a result that states
// this, since somebody may be waiting for it.
func (e *natsEngine) delivery(ctx context.Context, msg jetstream.Msg) (Delivery, bool) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, false // the message is not from a consumer, so there is nothing to acknowledge
	}
	job, err := DecodeJob(msg.Data())
	if err == nil && msg.Subject() != e.workSubject(job.Class, job.ID) {
		err = fmt.Errorf("job %q of class %q came on subject %q", job.ID, job.Class, msg.Subject())
	}
	if err != nil {
		id := msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:]
		_, perr := e.PutResult(ctx, &Result{Job: id, Host: "queue", Attempt: int(meta.NumDelivered), Failure: "no job of this program's kind: " + err.Error()})
		if perr == nil || ValidName("job", id) != nil {
			_ = msg.Term()
		}
		return Delivery{}, false
	}
	return Delivery{Job: job, Attempt: int(meta.NumDelivered), Receipt: natsReceipt{msg}}, true
}

type natsReceipt struct{ msg jetstream.Msg }

func (r natsReceipt) Extend(context.Context) error {
	return settled(r.msg.InProgress())
}

// Done waits for the server's confirmation. So if the answer is lost, the caller acknowledges the
// job again, instead of the job being run again.
func (r natsReceipt) Done(ctx context.Context) error {
	return settled(r.msg.DoubleAck(ctx))
}

func (r natsReceipt) Retry(_ context.Context, after time.Duration) error {
	if after > 0 {
		return settled(r.msg.NakWithDelay(after))
	}
	return settled(r.msg.Nak())
}

func settled(err error) error {
	if err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return nil
	}
	return fail("answer for", "job", err)
}
