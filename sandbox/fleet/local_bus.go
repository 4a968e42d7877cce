package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// localServer is one host's handler with its active calls.
type localServer struct {
	handle func(context.Context, []byte) []byte
	ctx    context.Context
	stop   func()
	mu     sync.Mutex
	over   bool
	calls  sync.WaitGroup
}

// enter adds a call to the calls for which stop waits.
func (s *localServer) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.calls.Add(1)
	return true
}

// Call implements Bus. Like a call over a network, it passes a copy to the handler and returns when
// ctx ends, even if the handler is still running.
func (e *localEngine) Call(ctx context.Context, host string, request []byte) ([]byte, error) {
	e.mu.Lock()
	s := e.servers[host]
	e.mu.Unlock()
	if s == nil || !s.enter() {
		return nil, fail("call host", host, ErrNoHost)
	}
	answer := make(chan []byte, 1)
	request = slices.Clone(request)
	go func() {
		defer s.calls.Done()
		answer <- s.handle(s.ctx, request)
	}()
	select {
	case b := <-answer:
		return b, nil
	case <-ctx.Done():
		return nil, fail("call host", host, context.Cause(ctx))
	}
}

// Serve implements Bus.
func (e *localEngine) Serve(host string, handle func(context.Context, []byte) []byte) (func(), error) {
	if err := ValidName("host", host); err != nil {
		return nil, fail("serve", "host", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fail("serve host", host, ErrClosed)
	}
	if e.servers[host] != nil {
		return nil, fail("serve host", host, errors.New("another serves under that name; give every host its own ID"))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &localServer{handle: handle, ctx: ctx}
	s.stop = sync.OnceFunc(func() {
		e.mu.Lock()
		delete(e.servers, host)
		e.mu.Unlock()
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		cancel()
		s.calls.Wait()
	})
	e.servers[host] = s
	return s.stop, nil
}
