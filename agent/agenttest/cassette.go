package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
)

// exchangeEntry is one line of a cassette: a request and its answer.
type exchangeEntry struct {
	Hash    string          `json:"hash"`
	Request json.RawMessage `json:"request"` // for people: only the last message; the hash covers the whole request
	Chunks  []chunkEntry    `json:"chunks"`
	Error   *errorEntry     `json:"error,omitempty"`
}

// chunkEntry is one chunk with the time it arrived; exactly one of the other fields is set.
type chunkEntry struct {
	At       int64                `json:"ms"` // time since the request
	Text     *agent.TextDelta     `json:"text,omitempty"`
	Thinking *agent.ThinkingDelta `json:"thinking,omitempty"`
	Start    *agent.ToolCallStart `json:"start,omitempty"`
	Args     *agent.ToolCallDelta `json:"args,omitempty"`
	Opaque   *agent.Opaque        `json:"opaque,omitempty"`
	Usage    *agent.Usage         `json:"usage,omitempty"`
	Finish   *agent.Finish        `json:"finish,omitempty"`
}

type errorEntry struct {
	Kind       agent.ErrorKind `json:"kind"`
	Status     int             `json:"status,omitempty"`
	RetryAfter time.Duration   `json:"retry_after,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Message    string          `json:"message"`
}

func newChunkEntry(c agent.Chunk, at time.Duration) chunkEntry {
	e := chunkEntry{At: at.Milliseconds()}
	switch c := c.(type) {
	case agent.TextDelta:
		e.Text = &c
	case agent.ThinkingDelta:
		e.Thinking = &c
	case agent.ToolCallStart:
		e.Start = &c
	case agent.ToolCallDelta:
		e.Args = &c
	case agent.Opaque:
		e.Opaque = &c
	case agent.Usage:
		e.Usage = &c
	case agent.Finish:
		e.Finish = &c
	}
	return e
}

func (e *chunkEntry) chunk() agent.Chunk {
	switch {
	case e.Text != nil:
		return *e.Text
	case e.Thinking != nil:
		return *e.Thinking
	case e.Start != nil:
		return *e.Start
	case e.Args != nil:
		return *e.Args
	case e.Opaque != nil:
		return *e.Opaque
	case e.Usage != nil:
		return *e.Usage
	case e.Finish != nil:
		return *e.Finish
	}
	return nil
}

// Recorder is a model that writes every exchange to a cassette.
type Recorder struct {
	model agent.Model
	tape  *tape
	opts  *cassetteOptions
}

// Record returns a model that answers as m does and writes every request and answer to a new file
// at path, with timings and errors. Secrets are first removed from texts, see [Scrub]; a model's
// credentials never reach the file. Answers that the consumer stopped reading are not written.
// Close it when done.
func Record(path string, m agent.Model, opts ...CassetteOption) (*Recorder, error) {
	t, err := newTape(path)
	if err != nil {
		return nil, err
	}
	return &Recorder{model: m, tape: t, opts: newCassetteOptions(opts)}, nil
}

// Name returns the name of the wrapped model.
func (r *Recorder) Name() string { return agent.ModelName(r.model) }

// Close ends the recording and returns the first write error.
func (r *Recorder) Close() error { return r.tape.close() }

// Stream passes the model's answer on and records it when it has ended.
func (r *Recorder) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		entry, err := r.begin(req)
		if err != nil {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Provider: scriptName, Err: err})
			return
		}
		began := time.Now()
		for c, err := range r.model.Stream(ctx, req) {
			if err != nil {
				me := agent.AsModelError(err)
				entry.Error = &errorEntry{me.Kind, me.Status, me.RetryAfter, me.Provider, message(me)}
			} else {
				entry.Chunks = append(entry.Chunks, newChunkEntry(c, time.Since(began)))
			}
			if !yield(c, err) {
				if err == nil && !isFinish(c) {
					return
				}
				break // the answer is complete
			}
		}
		r.tape.write(r.scrubbed(entry))
	}
}

func isFinish(c agent.Chunk) bool {
	_, ok := c.(agent.Finish)
	return ok
}

func message(me *agent.ModelError) string {
	if me.Err == nil {
		return ""
	}
	return me.Err.Error()
}

func (r *Recorder) begin(req *agent.Request) (*exchangeEntry, error) {
	sum, err := hash(req, r.opts.scrub)
	if err != nil {
		return nil, err
	}
	e := &exchangeEntry{Hash: sum, Request: json.RawMessage("null")}
	if n := len(req.Messages); n > 0 {
		if e.Request, err = json.Marshal(req.Messages[n-1]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// scrubbed removes the secrets from everything in an entry. Secrets are searched for in the JSON
// text, where one that spans chunks cannot be seen: so the texts of neighbouring deltas are joined
// first if together they hold a secret.
func (r *Recorder) scrubbed(e *exchangeEntry) *exchangeEntry {
	e.Chunks = r.joinSecret(e.Chunks)
	data, err := json.Marshal(e)
	if err != nil {
		return e
	}
	var out exchangeEntry
	if clean := r.opts.scrub(string(data)); json.Unmarshal([]byte(clean), &out) != nil {
		out = exchangeEntry{Hash: e.Hash, Request: json.RawMessage("null"), Error: &errorEntry{Kind: agent.ErrUnknown, Message: "the scrubbed entry was not JSON"}}
	}
	return &out
}

// joinSecret joins runs of deltas of one kind if scrubbing would change their joined text.
func (r *Recorder) joinSecret(in []chunkEntry) []chunkEntry {
	var out []chunkEntry
	for i := 0; i < len(in); {
		j := i + 1
		joined := in[i]
		for j < len(in) && joinable(in[i], in[j]) {
			joined = joinEntries(joined, in[j])
			j++
		}
		if t := textOf(joined); j-i > 1 && r.opts.scrub(t) != t {
			out = append(out, joined)
		} else {
			out = append(out, in[i:j]...)
		}
		i = j
	}
	return out
}

func joinable(a, b chunkEntry) bool {
	switch {
	case a.Text != nil:
		return b.Text != nil
	case a.Thinking != nil:
		return b.Thinking != nil && b.Thinking.Signature == "" && b.Thinking.Redacted == nil
	case a.Args != nil:
		return b.Args != nil && a.Args.Index == b.Args.Index
	}
	return false
}

func joinEntries(a, b chunkEntry) chunkEntry {
	switch {
	case a.Text != nil:
		a.Text = &agent.TextDelta{Text: a.Text.Text + b.Text.Text}
	case a.Thinking != nil:
		a.Thinking = &agent.ThinkingDelta{Text: a.Thinking.Text + b.Thinking.Text}
	case a.Args != nil:
		a.Args = &agent.ToolCallDelta{Index: a.Args.Index, Args: a.Args.Args + b.Args.Args}
	}
	return a
}

func textOf(e chunkEntry) string {
	switch {
	case e.Text != nil:
		return e.Text.Text
	case e.Thinking != nil:
		return e.Thinking.Text
	case e.Args != nil:
		return e.Args.Args
	}
	return ""
}

// Player is a model that replays a cassette.
type Player struct {
	path    string
	opts    *cassetteOptions
	torn    bool
	mu      sync.Mutex
	entries []exchangeEntry
	used    []bool
	n       int
}

// Replay returns a model that answers from the cassette at path: each request receives the first
// unused answer recorded for an equal request. Wrap it with [Inject] to add faults. It is safe for
// concurrent use.
func Replay(path string, opts ...CassetteOption) (*Player, error) {
	entries, torn, err := readTape[exchangeEntry](path)
	if err != nil {
		return nil, err
	}
	return &Player{path: path, opts: newCassetteOptions(opts), torn: torn, entries: entries, used: make([]bool, len(entries))}, nil
}

// Torn reports whether the cassette's last line was cut off while it was written, and is therefore
// left out.
func (p *Player) Torn() bool { return p.torn }

// Left returns the number of answers that were not requested yet.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, u := range p.used {
		if !u {
			n++
		}
	}
	return n
}

// Stream replays the answer to req.
func (p *Player) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		entry, err := p.find(req)
		if err != nil {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Provider: scriptName, Err: err})
			return
		}
		var at int64
		for i := range entry.Chunks {
			c := &entry.Chunks[i]
			if p.opts.paced > 0 {
				_ = wait.For(ctx, time.Duration(float64(c.At-at)*float64(time.Millisecond)/p.opts.paced))
				at = c.At
			}
			if ctx.Err() != nil {
				yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Provider: scriptName, Err: context.Cause(ctx)})
				return
			}
			if !yield(c.chunk(), nil) {
				return
			}
		}
		if e := entry.Error; e != nil {
			yield(nil, &agent.ModelError{Kind: e.Kind, Status: e.Status, RetryAfter: e.RetryAfter, Provider: e.Provider, Err: errors.New(e.Message)})
		}
	}
}

// find returns the next answer for req.
func (p *Player) find(req *agent.Request) (*exchangeEntry, error) {
	sum, err := hash(req, p.opts.scrub)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	for i := range p.entries {
		if !p.used[i] && (p.opts.order || p.entries[i].Hash == sum) {
			p.used[i] = true
			return &p.entries[i], nil
		}
	}
	return nil, fmt.Errorf("replay %s: none of its %d answers is left for request %d, which ends with %q; if the request was meant to change, record again",
		p.path, len(p.entries), p.n, tail(req))
}
