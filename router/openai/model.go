package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

const (
	readStream = "read stream"
	maxEvent   = 256 << 20 // bytes of one event
	// linger is the time for which a stream may stay silent after the answer is complete: usage and
	// the end marker follow the finish at once, and a server that forgets to close must not delay
	// the answer.
	linger = 5 * time.Second
)

// decoder turns the events of one protocol into chunks.
type decoder interface {
	// event reads one event and appends its chunks to out.
	event(ev wire.Event, out []agent.Chunk) ([]agent.Chunk, error)
	// complete reports whether the answer is whole, and finished reports whether nothing more can
	// come.
	complete() bool
	finished() bool
	// finish returns the last chunks of a stream that ended; the error is the reason why it is not
	// an answer.
	finish() ([]agent.Chunk, error)
}

// Stream sends req and yields the response as it arrives.
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		res, err := m.open(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		d := m.newDecoder(req)
		err = m.read(ctx, res, d, yield)
		if d.finished() {
			drain(res.Body)
		}
		if err != nil {
			me := m.transportError(ctx, readStream, err)
			if me.RequestID == "" {
				me.RequestID = res.Header.Get("X-Request-Id")
			}
			yield(nil, me)
		}
	}
}

func (m *Model) newDecoder(req *agent.Request) decoder {
	prefix := fmt.Sprintf("call_%d_", len(req.Messages))
	if m.cfg.API == Responses {
		return &responsesDecoder{m: m, calls: wire.Calls{Prefix: prefix, Owner: m.thinker}}
	}
	return &chatDecoder{m: m, calls: wire.Calls{Prefix: prefix, Owner: m.thinker}}
}

// fits limits how often one request is sent in another form after a refusal.
const fits = 3

// open encodes and sends the request. If the server refuses the form of the history and says which
// form it takes, the request is sent in that form, and so are later ones.
func (m *Model) open(ctx context.Context, req *agent.Request) (*http.Response, error) {
	if ctx.Err() != nil {
		return nil, m.transportError(ctx, "send request", ctx.Err())
	}
	f := m.fit.Load()
	body, err := m.encode(f, req)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		res, err := m.send(ctx, body)
		if err == nil {
			if tries > 0 {
				m.fit.Store(f)
			}
			return res, nil
		}
		m.weigh(err, req)
		next, ok := m.learn(f, err)
		if !ok || tries == fits || ctx.Err() != nil {
			return nil, err
		}
		other, encodeErr := m.encode(next, req)
		if encodeErr != nil || bytes.Equal(other, body) {
			return nil, err
		}
		f, body = next, other
	}
}

// weigh classifies a refusal by the estimated size of the prompt, if its words do not say more.
func (m *Model) weigh(err error, req *agent.Request) {
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok || me.Kind != agent.ErrInvalid {
		return
	}
	r := wire.Refusal{Status: me.Status, Message: me.Err.Error(), Tokens: wire.Tokens(req), Window: m.cfg.MaxContext}
	if r.Overflows() {
		me.Kind = agent.ErrContextLength
	}
}

func (m *Model) encode(f *fit, req *agent.Request) ([]byte, error) {
	buf := make([]byte, 0, estimate(req))
	if m.cfg.API == Responses {
		return m.responsesBodyIn(f, buf, req)
	}
	return m.chatBodyIn(f, buf, req)
}

// estimate returns the approximate size in bytes of a request's body, so that the buffer seldom
// grows. The buffer is not reused: a transport may still be reading it after the answer has begun.
func estimate(req *agent.Request) int {
	n := 1024 + len(req.System)
	for i := range req.Tools {
		n += 128 + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	for i := range req.Messages {
		n += 64 + estimateParts(req.Messages[i].Parts)
	}
	return n + n/8
}

func estimateParts(parts []agent.Part) int {
	n := 0
	for _, p := range parts {
		n += 64
		switch p := p.(type) {
		case agent.Text:
			n += len(p.Text)
		case agent.Image:
			n += len(p.Data)*4/3 + len(p.URL)
		case agent.Thinking:
			n += len(p.Text) + len(p.Signature)
		case agent.ToolCall:
			n += len(p.Args) * 9 / 8
		case agent.ToolResult:
			n += estimateParts(p.Parts)
		case agent.Opaque:
			n += len(p.Data)
		}
	}
	return n
}

// errStopped is the error when the consumer has left the stream.
var errStopped = errors.New("stopped")

// read passes the stream on. It returns the reason why the stream is not an answer. It returns nil
// if it is one, and also if the consumer left.
func (m *Model) read(ctx context.Context, res *http.Response, d decoder, yield func(agent.Chunk, error) bool) error {
	err := m.events(ctx, res, d, func(chunks []agent.Chunk) bool {
		for _, c := range chunks {
			if !yield(c, nil) {
				return false
			}
		}
		return true
	})
	if err == errStopped {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !(d.complete() && isBroken(err)) {
		return err
	}
	last, err := d.finish()
	for _, c := range last {
		if !yield(c, nil) {
			return nil
		}
	}
	return err
}

// isBroken reports whether err came from the connection rather than from the data read.
func isBroken(err error) bool {
	_, typed := errors.AsType[*agent.ModelError](err)
	return !typed
}

// events feeds the decoder until the stream ends.
func (m *Model) events(ctx context.Context, res *http.Response, d decoder, emit func([]agent.Chunk) bool) error {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		return m.whole(res.Body, d, emit)
	}
	var closing *time.Timer
	events := wire.NewEventReader(res.Body, maxEvent)
	var chunks []agent.Chunk
	for {
		ev, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		chunks, err = d.event(ev, chunks[:0])
		if !emit(chunks) {
			return errStopped
		}
		if err != nil || d.finished() {
			return err
		}
		switch {
		case closing != nil:
			closing.Reset(m.linger)
		case d.complete():
			closing = time.AfterFunc(m.linger, func() { res.Body.Close() })
			defer closing.Stop()
		}
	}
}

// whole reads the answer of a server that does not stream.
func (m *Model) whole(r io.Reader, d decoder, emit func([]agent.Chunk) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
	if err != nil {
		return err
	}
	if len(data) > maxEvent {
		return fmt.Errorf("the answer exceeds %d bytes", maxEvent)
	}
	chunks, err := d.event(wire.Event{Data: data}, nil)
	if !emit(chunks) {
		return errStopped
	}
	return err
}

// drain reads what follows the end marker of a stream, so that its connection can be reused, but
// does not wait for it.
func drain(body io.ReadCloser) {
	timer := time.AfterFunc(50*time.Millisecond, func() { body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 64<<10)
}

// badEvent returns the error for an event that cannot be read. A partial one was cut off.
func (m *Model) badEvent(ev wire.Event, err error) error {
	kind := agent.ErrServer
	if ev.Partial {
		kind = agent.ErrIncomplete
	}
	return &agent.ModelError{Kind: kind, Provider: provider, Err: fmt.Errorf("%s: an event is not JSON: %w: %s", readStream, err, m.clean(string(ev.Data[:min(len(ev.Data), maxMessage)])))}
}

func errIncomplete(what string) error {
	return &agent.ModelError{Kind: agent.ErrIncomplete, Provider: provider, Err: fmt.Errorf("%s: it ended %s; send the request again", readStream, what)}
}

func wrapMessage(i int, err error) error { return fmt.Errorf("message %d: %w", i, err) }
