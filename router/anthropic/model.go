package anthropic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// maxEvent limits the size of one event of the stream, and so memory: the API's own limit on a
// whole response is far below it.
const maxEvent = 256 << 20

// Stream sends req and yields the response as it arrives. Every error is an [*agent.ModelError].
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		res, outputTool, err := m.open(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		read, status := read, 0
		if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "application/json" {
			read, status = readWhole, res.StatusCode
		}
		if err := read(ctx, res.Body, outputTool, m.thinker, yield); err != nil {
			if err.Status == 0 {
				err.Status = status
			}
			if err.RequestID == "" {
				err.RequestID = res.Header.Get("Request-Id")
			}
			yield(nil, err)
		}
	}
}

// fits limits how often one request is sent in another form after a refusal.
const fits = 2

// open encodes and sends the request. If the server refuses the form of the history and says which
// form it takes, the request is sent in that form, and so are later ones.
func (m *Model) open(ctx context.Context, req *agent.Request) (*http.Response, string, *agent.ModelError) {
	f := m.fit.Load()
	data, outputTool, err := m.encodeIn(f, req)
	if err != nil {
		err.Err = fmt.Errorf("encode request: %w", err.Err)
		return nil, "", err
	}
	for tries := 0; ; tries++ {
		res, err := m.send(ctx, data)
		if err == nil {
			if tries > 0 {
				m.fit.Store(f)
			}
			return res, outputTool, nil
		}
		if r := (wire.Refusal{Status: err.Status, Message: err.Err.Error(), Tokens: wire.Tokens(req)}); err.Kind == agent.ErrInvalid && r.Overflows() {
			err.Kind = agent.ErrContextLength
		}
		next, ok := m.learn(f, err)
		if !ok || tries == fits || ctx.Err() != nil {
			return nil, "", err
		}
		other, _, encodeErr := m.encodeIn(next, req)
		if encodeErr != nil || bytes.Equal(other, data) {
			return nil, "", err
		}
		f, data = next, other
	}
}

// send posts the body and returns a response that holds an event stream.
func (m *Model) send(ctx context.Context, data []byte) (*http.Response, *agent.ModelError) {
	if err := ctx.Err(); err != nil {
		return nil, transportError(ctx, "send request", err)
	}
	var res *http.Response
	if err := m.client.Post(ctx, "v1/messages", data, &res); err != nil {
		return nil, sendError(ctx, err)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/html" {
		defer res.Body.Close()
		head, _ := io.ReadAll(io.LimitReader(res.Body, 4*maxErrorText))
		return nil, &agent.ModelError{Kind: agent.ErrServer, Status: res.StatusCode, Provider: provider,
			Err: fmt.Errorf("read response: it is %s, not an event stream; check BaseURL: %s", media, shorten(string(head)))}
	}
	return res, nil
}

// read turns the event stream into chunks. It returns nil after Finish and when the consumer stops
// early.
func read(ctx context.Context, src io.Reader, outputTool, thinker string, yield func(agent.Chunk, error) bool) *agent.ModelError {
	events := wire.NewEventReader(src, maxEvent)
	d := decoder{outputTool: outputTool, thinker: thinker}
	for {
		ev, err := events.Next()
		if ctx.Err() != nil {
			return transportError(ctx, "read stream", ctx.Err())
		}
		if err == io.EOF {
			return &agent.ModelError{Kind: agent.ErrIncomplete, Provider: provider, Err: errTruncated}
		}
		if err != nil {
			return transportError(ctx, "read stream", err)
		}
		if err := d.event(ev); err != nil {
			if ev.Partial { // the event was cut off: it is incomplete rather than invalid
				return &agent.ModelError{Kind: agent.ErrIncomplete, Provider: provider, Err: errTruncated}
			}
			return err
		}
		for _, c := range d.out {
			if !yield(c, nil) {
				return nil
			}
		}
		if d.done {
			return nil
		}
	}
}

// readWhole reads the answer of a server that does not stream. Some servers call a stream JSON.
func readWhole(ctx context.Context, src io.Reader, outputTool, thinker string, yield func(agent.Chunk, error) bool) *agent.ModelError {
	data, err := io.ReadAll(io.LimitReader(src, maxEvent))
	if err != nil {
		return transportError(ctx, "read response", err)
	}
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("{")) {
		return read(ctx, bytes.NewReader(data), outputTool, thinker, yield)
	}
	d := decoder{outputTool: outputTool, thinker: thinker}
	if err := d.event(wire.Event{Data: data}); err != nil {
		return err
	}
	if !d.done {
		return refuse(agent.ErrServer, "read response: it is no answer of the Messages API; check BaseURL: %s", shorten(string(data)))
	}
	for _, c := range d.out {
		if !yield(c, nil) {
			return nil
		}
	}
	return nil
}

var errTruncated = errors.New("read stream: it ended before message_stop; send the request again")

// Capabilities returns what the backend can do. What a particular model lacks, the API refuses.
func (m *Model) Capabilities() agent.Capabilities {
	c := agent.AllCapabilities()
	c.Notes = []string{
		"Seed is not sent: the API has no such parameter.",
		"Temperature is not sent with thinking, nor to models that refuse it (Claude 4.7 and later).",
	}
	return c
}
