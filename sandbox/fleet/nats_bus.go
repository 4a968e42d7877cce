package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Announce implements Presence.
func (e *natsEngine) Announce(ctx context.Context, s HostStatus) error {
	b, err := encode(s)
	if err = errors.Join(err, ValidName("HostStatus.ID", s.ID)); err == nil {
		_, err = e.hosts.Put(ctx, s.ID, b)
	}
	if err != nil {
		return fail("announce host", s.ID, err)
	}
	return nil
}

// Hosts implements Presence.
func (e *natsEngine) Hosts(ctx context.Context) ([]HostStatus, error) {
	w, err := e.hosts.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fail("list", "hosts", err)
	}
	defer w.Stop()
	var out []HostStatus
	for {
		select {
		case entry, ok := <-w.Updates():
			if !ok {
				return nil, fail("list", "hosts", ErrClosed)
			}
			if entry == nil { // the end of the existing entries
				sortHosts(out)
				return out, nil
			}
			s, err := DecodeHost(entry.Value())
			if err != nil || s.ID != entry.Key() {
				continue // from another program, so not a host
			}
			out = append(out, s)
		case <-ctx.Done():
			return nil, fail("list", "hosts", context.Cause(ctx))
		}
	}
}

// Call implements Bus.
func (e *natsEngine) Call(ctx context.Context, host string, request []byte) ([]byte, error) {
	if err := ValidName("host", host); err != nil {
		return nil, fail("call", "host", err)
	}
	if len(request) > MaxMessage {
		return nil, fail("call host", host, ErrTooLarge)
	}
	msg, err := e.conn.RequestWithContext(ctx, e.hostSubject(host), request)
	if errors.Is(err, nats.ErrNoResponders) {
		err = ErrNoHost
	}
	if err != nil {
		return nil, fail("call host", host, err)
	}
	return msg.Data, nil
}

// maxCalls limits the requests that a host handles at the same time; further requests wait in the
// connection's queue.
const maxCalls = 1024

// Serve implements Bus.
func (e *natsEngine) Serve(host string, handle func(context.Context, []byte) []byte) (func(), error) {
	if err := ValidName("host", host); err != nil {
		return nil, fail("serve", "host", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	places := make(chan struct{}, maxCalls)
	var mu sync.Mutex // orders calls.Add before calls.Wait
	sub, err := e.conn.Subscribe(e.hostSubject(host), func(msg *nats.Msg) {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		calls.Go(func() {
			defer func() { <-places }()
			_ = msg.Respond(handle(ctx, msg.Data)) // if the answer is lost, the client asks again
		})
	})
	if err == nil {
		err = e.conn.Flush() // so that the server knows of this subscription when Serve returns
	}
	if err != nil {
		cancel()
		return nil, fail("serve host", host, err)
	}
	return sync.OnceFunc(func() {
		_ = sub.Unsubscribe()
		_ = e.conn.FlushTimeout(5 * time.Second) // so that the server knows that the host is gone, and callers need not wait for it
		mu.Lock()
		cancel()
		mu.Unlock()
		calls.Wait()
	}), nil
}
