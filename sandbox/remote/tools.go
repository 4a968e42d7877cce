package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
)

// Tools runs tools next to a sandbox on a server; see [Toolbox]. All methods may be called
// concurrently. They repeat requests while the server cannot be reached, for Options.Patience, and
// nothing is done twice by that. After Close of the sandbox, and after its lease ran out, they fail
// with [sandbox.ErrClosed].
type Tools struct {
	c *client

	mu    sync.Mutex
	specs *Specs
}

// Tools returns the tools next to the sandbox. They end with it. A server without tools answers
// every call with [ErrNoTools].
func (s *Sandbox) Tools() *Tools { return s.tools }

// Specs describes the tools of a server.
type Specs struct {
	// Tools holds what Toolbox.Specs returned.
	Tools json.RawMessage `json:"tools"`
	// Hash changes with Tools. It is the SHA-256 in hexadecimal.
	Hash string `json:"hash"`
	// Prepares, Checkpoints, Undoes and Instructs report whether the toolbox is a Preparer, a
	// Checkpointer, an Undoer and an Instructor.
	Prepares    bool `json:"prepares"`
	Checkpoints bool `json:"checkpoints"`
	Undoes      bool `json:"undoes"`
	Instructs   bool `json:"instructs"`
}

// ToolHandlers receive what a running call sends. A nil function ignores it; questions are then
// refused. Progress, Output and Artifact are called one at a time, in order, and hold up what comes
// later.
type ToolHandlers struct {
	// Progress receives texts to show.
	Progress func(text string)
	// Output receives output of commands. data is valid during the call.
	Output func(stream sandbox.Stream, data []byte)
	// Ask answers a question. It may take any time and must return when ctx ends: with the call.
	// The tool gets an error as its answer.
	Ask func(ctx context.Context, question json.RawMessage) (answer json.RawMessage, err error)
	// Artifact is called for each text that the result refers to. It can be fetched until Artifact
	// returns. An error ends the wait for the result; the outcome of the call is then unknown.
	Artifact func(ctx context.Context, a *Artifact) error
}

// Artifact is a text on the server.
type Artifact struct {
	Name string // what the tool calls it
	Hash string // SHA-256 in hexadecimal
	Size int64  // bytes

	c     *client
	call  string
	fetch func(ctx context.Context, w io.Writer) error // of NewArtifact
}

// errors of the server about tools get the words of this package.
func toolWord(verb string, err error) error {
	var own *ToolError
	if err == nil || errors.As(err, &own) {
		return err
	}
	return word(verb, err)
}

// Specs returns what the tools are. It asks the server each time; the tools travel only if they
// changed.
func (t *Tools) Specs(ctx context.Context) (*Specs, error) {
	s, err := t.askSpecs(ctx)
	return s, toolWord("list tools", err)
}

func (t *Tools) askSpecs(ctx context.Context) (*Specs, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out Specs
	var same bool
	err := t.ask(ctx, "GET", "/tools", nil, func(req *http.Request) error {
		out = Specs{}
		if t.specs != nil {
			req.Header.Set("If-None-Match", `"`+t.specs.Hash+`"`)
		}
		resp, err := t.c.answer(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if same = resp.StatusCode == http.StatusNotModified; same {
			return nil
		}
		return readReply(resp.Body, &out, maxResult)
	})
	switch {
	case err != nil:
		return nil, err
	case same && t.specs == nil || !same && out.Hash != out.hash():
		return nil, errors.New("what the server sends does not have the hash it is named by")
	case !same:
		t.specs = &out
	}
	s := *t.specs
	return &s, nil
}

// Prepare describes what a call would do, and does nothing. It fails with a [ToolError] if the tool
// refuses the call, and with [ErrNoTools] if Specs.Prepares is not set.
func (t *Tools) Prepare(ctx context.Context, q ToolRequest) (*Prepared, error) {
	var out Prepared
	err := t.get(ctx, "POST", "/prepare", q, &out)
	if err != nil {
		return nil, toolWord("prepare "+q.Name, err)
	}
	return &out, nil
}

// Checkpoints returns what Toolbox.Checkpoints does.
func (t *Tools) Checkpoints(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := t.get(ctx, "GET", "/checkpoints", nil, &out)
	return out, toolWord("list checkpoints", err)
}

// Instructions returns what Toolbox.Instructions does.
func (t *Tools) Instructions(ctx context.Context, dir string) (json.RawMessage, error) {
	var out json.RawMessage
	err := t.get(ctx, "GET", "/instructions?dir="+url.QueryEscape(dir), nil, &out)
	return out, toolWord("find instructions", err)
}

// get makes a request that changes nothing, with a JSON reply.
func (t *Tools) get(ctx context.Context, method, path string, in, out any) error {
	err := t.ask(ctx, method, path, in, func(req *http.Request) error {
		resp, err := t.c.answer(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return readReply(resp.Body, out, maxResult)
	})
	var w *wireError
	if errors.As(err, &w) && w.Tool {
		return &ToolError{*w}
	}
	return err
}

// ask makes a request that changes nothing until do succeeds or fails for good.
func (t *Tools) ask(ctx context.Context, method, path string, in any, do func(*http.Request) error) error {
	if t.c.ctx.Err() != nil {
		return sandbox.ErrClosed
	}
	var b []byte
	if in != nil {
		var err error
		if b, err = json.Marshal(in); err != nil {
			return err
		}
	}
	return t.c.retry(ctx, func() error {
		req, err := t.c.request(ctx, method, "/v1/sandboxes/"+t.c.id+path, bytes.NewReader(b))
		if err != nil {
			return final{err}
		}
		return do(req)
	})
}
