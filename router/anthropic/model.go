package anthropic

import (
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
		data, outputTool, err := m.encode(req)
		if err != nil {
			err.Err = fmt.Errorf("encode request: %w", err.Err)
			yield(nil, err)
			return
		}
		res, err := m.send(ctx, data)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		if err := read(ctx, res.Body, outputTool, m.thinker, yield); err != nil {
			if err.RequestID == "" {
				err.RequestID = res.Header.Get("Request-Id")
			}
			yield(nil, err)
		}
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
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "application/json" || media == "text/html" {
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
