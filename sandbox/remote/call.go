package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// call holds a call of a tool on the server, or an operation on checkpoints, which also runs once.
type call struct {
	*job
	cancel context.CancelCauseFunc // nil if an earlier server ran it
	store  *store
	talk   talk
}

// callRequest is a request for a call.
type callRequest struct {
	Op string `json:"op"`
	ToolRequest
	Arg string `json:"arg,omitempty"` // of an operation on checkpoints
}

// The operations.
const (
	opTool     = "tool"
	opSnapshot = "snapshot"
	opRestore  = "restore"
	opUndo     = "undo"
	opRedo     = "redo"
)

// callEnd is the last frame of a call's log. The result is in the frames before.
type callEnd struct {
	Call  string     `json:"call"`
	Size  int64      `json:"size,omitempty"` // of the result, in bytes
	Error *wireError `json:"error,omitempty"`
}

// Limits on calls.
const (
	maxCall      = 16 << 20 // bytes of a request
	maxResult    = 16 << 20
	maxPrepared  = 4 << 20
	maxQuestions = 16
	// callGrace is the time within which a tool must return after its context ended.
	callGrace = 10 * time.Second
	// callQuiet is the time after which the answer to a call begins although there is nothing to
	// send yet.
	callQuiet = time.Second
)

// callName identifies a call by its name and request. It is the first frame of the log, so that a
// client sees that a log is that of its call, and a later server that a request is the same.
func callName(id string, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(id+"\n"), body...))
	return sum[:]
}

// serveCall starts a call and streams its log, also if an earlier request has started it.
func (s *Server) serveCall(w http.ResponseWriter, req *http.Request) {
	a, err := s.enter(req)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.work.Done()
	c, err := s.call(a, req)
	if err == nil {
		c.log.await(req.Context(), int64(frameHead+sha256.Size), callQuiet) // most calls are one write
		err = s.follow(w, req, c.log)
	}
	if err != nil {
		fail(w, err)
	}
}

func (s *Server) call(a *account, req *http.Request) (*call, error) {
	id := req.PathValue("call")
	data, err := io.ReadAll(io.LimitReader(req.Body, maxCall+1))
	if err != nil || len(data) > maxCall {
		return nil, fmt.Errorf("%w: arguments of more than %d bytes, or cut off", errRequest, maxCall)
	}
	name := callName(id, data)
	if _, err := find(s, s.calls, a, id); err != nil {
		return s.newCall(a, req, id, data, name)
	}
	c, _, err := claim(s, s.calls, a, dirCalls, id, name, nil, nil)
	return c, err
}

// newCall starts a call, unless another request does at the same time.
func (s *Server) newCall(a *account, req *http.Request, id string, data, name []byte) (*call, error) {
	var q callRequest
	if err := decodeStrictly(json.NewDecoder(bytes.NewReader(data)), &q); err != nil {
		return nil, fmt.Errorf("%w: %w", errRequest, err)
	}
	b, err := s.box(a, req)
	if err != nil {
		return nil, err
	}
	box, leave, err := b.tools.enter(b)
	if err != nil {
		return nil, err
	}
	left, err := a.timeLeft()
	if err != nil {
		leave()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(b.tools.ctx)
	c, mine, err := claim(s, s.calls, a, dirCalls, id, name, createLogInMemory, func(j *job) *call { return &call{job: j, cancel: cancel, store: s.stores[a.Name]} })
	if !mine {
		leave()
		cancel(nil)
		return c, err
	}
	if left == 0 || q.Timeout > 0 && q.Timeout < left {
		left = q.Timeout
	}
	if c.write(frameCall, name) {
		leave()
		cancel(nil)
		c.finish(s, nil, callEnd{Call: id, Error: toWire(fmt.Errorf("%w: %d bytes", ErrQuota, a.Quota.Bytes))}, false)
		return c, nil
	}
	s.work.Go(func() {
		defer cancel(nil)
		s.perform(ctx, c, box, q, left, leave)
	})
	return c, nil
}

// outcome holds what a call returned.
type outcome struct {
	value json.RawMessage
	err   error
}

// perform runs a call to its end, or until it has ignored the end of its context for a while.
func (s *Server) perform(ctx context.Context, c *call, box Toolbox, q callRequest, limit time.Duration, leave func()) {
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	began := time.Now()
	done := make(chan outcome, 1)
	s.work.Go(func() {
		defer leave()
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				s.cfg.Log.Error("tool panicked", "tenant", c.acc.Name, "tool", q.Name, "panic", p)
				o = outcome{err: &ToolError{wireError{Text: fmt.Sprintf("the tool %s panicked: %v", q.Name, p)}}}
			}
			done <- o
		}()
		o.value, o.err = s.execute(ctx, c, box, q)
	})
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		late := time.NewTimer(s.grace)
		defer late.Stop()
		select {
		case o = <-done:
		case <-late.C:
			o.err = fmt.Errorf("%w: %w, and the tool %s does not return", ErrLost, context.Cause(ctx), q.Name)
		}
	}
	c.acc.spend(time.Since(began))
	c.end(s, ctx, o)
}

// execute does what a request asks for. Errors of the toolbox are ToolErrors.
func (s *Server) execute(ctx context.Context, c *call, box Toolbox, q callRequest) (json.RawMessage, error) {
	if q.Op != opTool {
		id, err := checkpoint(ctx, box, q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(id)
	}
	if q.Digest != "" {
		p, err := prepare(ctx, box, q.ToolRequest)
		var own *ToolError
		switch {
		case errors.As(err, &own) && ctx.Err() == nil: // it was fine when it was approved
			return nil, fmt.Errorf("%s: %w: now %v", q.Name, ErrChanged, err)
		case err != nil:
			return nil, err
		}
		if p.Digest != q.Digest {
			return nil, fmt.Errorf("%s: %w; prepare it again and ask again", q.Name, ErrChanged)
		}
	}
	v, err := box.Call(ctx, q.ToolRequest, c)
	if err != nil {
		return nil, asToolError(err)
	}
	if len(v) > maxResult {
		err = fmt.Errorf("%w: the result of %s has %d bytes, more than %d", ErrLost, q.Name, len(v), maxResult)
	}
	return v, err
}

func checkpoint(ctx context.Context, box Toolbox, q callRequest) (id string, err error) {
	keeper, ok := box.(Checkpointer)
	undoer, undoes := box.(Undoer)
	switch {
	case q.Op == opSnapshot && ok:
		id, err = keeper.Snapshot(ctx, q.Arg)
	case q.Op == opRestore && ok:
		id, err = keeper.Restore(ctx, q.Arg)
	case q.Op == opUndo && undoes:
		id, err = undoer.Undo(ctx)
	case q.Op == opRedo && undoes:
		id, err = undoer.Redo(ctx)
	default:
		return "", fmt.Errorf("%s: %w", q.Op, ErrNoTools)
	}
	return id, asToolError(err)
}

// asToolError marks an error as the tool's own.
func asToolError(err error) error {
	if err == nil {
		return nil
	}
	return &ToolError{*toWire(err)}
}

// end writes the result and the end.
func (c *call) end(s *Server, ctx context.Context, o outcome) {
	e := callEnd{Call: c.id}
	c.mu.Lock()
	full := c.full
	c.mu.Unlock()
	if o.err == nil && full || o.err == nil && c.hold(int64(len(o.value))) != nil {
		o.err = fmt.Errorf("%w: %w: output of the call", ErrLost, ErrQuota)
	}
	switch {
	case o.err == nil:
		e.Size = int64(len(o.value))
	case errors.Is(context.Cause(ctx), sandbox.ErrClosed):
		e.Error = toWire(fmt.Errorf("%w: %w while the call ran: %v", ErrLost, sandbox.ErrClosed, o.err))
		o.value = nil
	default:
		e.Error = toWire(o.err)
		o.value = nil
	}
	c.finish(s, o.value, e, false)
	c.mu.Lock()
	dropped := c.dropped
	c.mu.Unlock()
	if dropped {
		forget(s, s.calls, c)
	}
}

// recall takes over a frame of the log that an earlier server wrote.
func (c *call) recall(kind byte, data []byte) {
	var a wireArtifact
	switch kind {
	case frameCall:
		c.req = bytes.Clone(data)
	case frameArtifact:
		if json.Unmarshal(data, &a) == nil {
			c.talk.sent(a.Hash)
		}
	}
}

// wantCall finds a call.
func (s *Server) wantCall(a *account, req *http.Request) (*call, error) {
	return find(s, s.calls, a, req.PathValue("call"))
}

// cancelCall ends a call's context. Repeated and late requests do nothing.
func (s *Server) cancelCall(a *account, req *http.Request) (any, error) {
	c, err := s.wantCall(a, req)
	if err == nil && c.cancel != nil {
		why := context.Canceled
		if req.URL.Query().Get("late") == "true" {
			why = context.DeadlineExceeded
		}
		c.cancel(why)
	}
	return struct{}{}, err
}

// acknowledgeCall frees a call's log. If the call still runs, it fails.
func (s *Server) acknowledgeCall(a *account, req *http.Request) (any, error) {
	return struct{}{}, acknowledge(s, s.calls, a, req.PathValue("call"))
}

// doneHeader lists calls that the client acknowledges with another request.
const doneHeader = "Luthier-Done"

// maxDone bounds the calls in that header.
const maxDone = 64

// digest identifies what a call would do.
func digest(q ToolRequest, p Prepared) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(q.Name), q.Args, p.Effects, p.Description, []byte(p.State)} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
