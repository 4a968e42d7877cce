package agenttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// Reference returns a model that knows every scenario of [Conformance]. It connects to its own
// server on loopback, in the simplest format a backend could have. To test something that takes
// models and is itself a model, such as a router, put it over this model and run the suite on the
// result.
func Reference(t testing.TB) agent.Model { return newReference(t, "")() }

func newReference(t testing.TB, fault string) func() agent.Model {
	srv := NewServer(t, func(*WireRequest) Wire { return refWire{} })
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return func() agent.Model {
		return &refModel{url: srv.URL, client: &http.Client{Transport: transport}, fault: fault}
	}
}

// refWire is the simplest format a backend could have: one JSON object per line, holding the chunks
// of the contract unchanged. It exists to test the suite itself.
type refWire struct{}

type refEvent struct {
	Start    *agent.ToolCallStart `json:"start,omitempty"`
	Delta    *agent.ToolCallDelta `json:"delta,omitempty"`
	Text     string               `json:"text,omitempty"`
	Thinking *agent.ThinkingDelta `json:"thinking,omitempty"`
	Opaque   json.RawMessage      `json:"opaque,omitempty"`
	Usage    *agent.Usage         `json:"usage,omitempty"`
	Finish   string               `json:"finish,omitempty"`
	Code     string               `json:"code,omitempty"`
	Message  string               `json:"message,omitempty"`
}

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func (refWire) Event(ev WireEvent) string {
	switch ev := ev.(type) {
	case WireText:
		return line(refEvent{Text: ev.Text})
	case WireThinking:
		return line(refEvent{Thinking: &agent.ThinkingDelta{Text: ev.Text, Signature: ev.Signature, Redacted: ev.Redacted}})
	case WireCallStart:
		return line(refEvent{Start: &agent.ToolCallStart{Index: ev.Index, ID: ev.ID, Name: ev.Name}})
	case WireCallArgs:
		return line(refEvent{Delta: &agent.ToolCallDelta{Index: ev.Index, Args: ev.Args}})
	case WireOpaque:
		return line(refEvent{Opaque: json.RawMessage(strconv.Quote(ev.Marker))})
	case WireUsage:
		return line(refEvent{Usage: &ev.Usage})
	case WireFinish:
		return line(refEvent{Finish: string(ev.Reason)})
	case WireFailure:
		return line(refEvent{Code: ev.Failure.Code, Message: ev.Failure.Message})
	case WireEmpty:
		return "{}\n\n"
	case WireGarbage:
		return "{oops\n"
	}
	return ""
}

func (refWire) Error(_ int, f Failure) (string, string) {
	return "application/json", line(refEvent{Code: f.Code, Message: f.Message})
}

const refProvider = "reference"

// refModel reads refWire. Its fault breaks it in one way, to show that the suite detects it.
type refModel struct {
	url    string
	client *http.Client
	fault  string
}

func (m *refModel) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := m.run(ctx, req, func(c agent.Chunk) bool { return yield(c, nil) }); err != nil {
			yield(nil, m.typed(ctx, err))
		}
	}
}

func (m *refModel) typed(ctx context.Context, err error) error {
	if ctx.Err() != nil && m.fault != "untyped-cancel" {
		return &agent.ModelError{Kind: agent.ErrCanceled, Err: ctx.Err()}
	}
	if me := (*agent.ModelError)(nil); errors.As(err, &me) || m.fault == "untyped" {
		return err
	}
	return &agent.ModelError{Kind: agent.ErrNetwork, Err: err}
}

func (m *refModel) run(ctx context.Context, req *agent.Request, yield func(agent.Chunk) bool) error {
	if m.fault == "writes-request" {
		req.Messages[0] = agent.Message{Role: agent.RoleUser, Parts: append([]agent.Part{agent.Text{Text: "injected"}}, req.Messages[0].Parts...)}
	}
	callCtx := ctx
	if m.fault == "ignores-context" {
		callCtx = context.WithoutCancel(ctx)
	}
	hr, err := http.NewRequestWithContext(callCtx, "POST", m.url, bytes.NewReader(m.encode(req)))
	if err != nil {
		return err
	}
	res, err := m.client.Do(hr)
	if err != nil {
		return err
	}
	if m.fault != "leaks-body" {
		defer res.Body.Close()
	}
	if res.StatusCode != 200 {
		return m.httpError(res)
	}
	return m.read(res.Body, yield)
}

var kindOfCode = map[string]agent.ErrorKind{
	FailContextLength: agent.ErrContextLength, FailAuth: agent.ErrAuth, FailRateLimit: agent.ErrRateLimit,
	FailOverloaded: agent.ErrOverloaded, FailServer: agent.ErrServer, FailInvalid: agent.ErrInvalid, FailNotFound: agent.ErrInvalid,
}

func (m *refModel) httpError(res *http.Response) error {
	limit := int64(1 << 20)
	if m.fault == "reads-all" {
		limit = 1 << 40
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit))
	if err != nil {
		return err
	}
	var ev refEvent
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&ev)
	me := &agent.ModelError{Kind: kindOfCode[ev.Code], Status: res.StatusCode, Err: errors.New(ev.Message)}
	if me.Kind == "" {
		me.Kind = agent.ErrServer
	}
	after := res.Header.Get("Retry-After")
	if s, err := strconv.Atoi(after); err == nil && m.fault != "no-retry-after" {
		me.RetryAfter = time.Duration(s) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		me.RetryAfter = time.Until(at)
	}
	return me
}

func (m *refModel) read(r io.Reader, yield func(agent.Chunk) bool) error {
	sc := bufio.NewScanner(r)
	if m.fault != "short-lines" {
		sc.Buffer(nil, 16<<20)
	}
	for sc.Scan() {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var ev refEvent
		if err := json.Unmarshal(sc.Bytes(), &ev); err != nil {
			if m.fault == "skips-garbage" {
				continue
			}
			return err
		}
		if ev.Code != "" {
			return &agent.ModelError{Kind: kindOfCode[ev.Code], Err: errors.New(ev.Message)}
		}
		for _, c := range m.chunks(ev) {
			if !yield(c) && m.fault != "ignores-break" {
				return nil
			}
		}
		if ev.Finish != "" {
			return nil
		}
	}
	if m.fault == "cut-is-success" {
		yield(agent.Finish{Reason: agent.FinishStop})
		return nil
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return &agent.ModelError{Kind: agent.ErrIncomplete, Err: io.ErrUnexpectedEOF}
}

func (m *refModel) chunks(ev refEvent) []agent.Chunk {
	var out []agent.Chunk
	add := func(c agent.Chunk) { out = append(out, c) }
	switch {
	case ev.Text != "":
		add(agent.TextDelta{Text: ev.Text})
	case ev.Thinking != nil:
		d := *ev.Thinking
		if m.fault != "unsigned-provider" {
			d.Provider = refProvider
		}
		if m.fault == "drops-signature" {
			d.Signature = ""
		}
		add(d)
	case ev.Start != nil:
		add(*ev.Start)
	case ev.Delta != nil:
		d := *ev.Delta
		if m.fault == "mixes-calls" {
			d.Index = 0
		}
		add(d)
	case ev.Opaque != nil:
		add(agent.Opaque{Provider: refProvider, Data: ev.Opaque})
	case ev.Usage != nil:
		add(*ev.Usage)
	case ev.Finish != "":
		add(agent.Finish{Reason: agent.FinishReason(ev.Finish)})
	}
	if m.fault == "trims-text" && ev.Text != "" {
		out[0] = agent.TextDelta{Text: strings.TrimSpace(ev.Text)}
	}
	return out
}

// encode writes the request as plain JSON.
func (m *refModel) encode(req *agent.Request) []byte {
	type msg struct {
		Role  agent.Role
		Parts []any
	}
	out := struct {
		System   string
		Stop     []string
		Tools    []agent.ToolSpec
		Choice   agent.ToolChoice
		Output   *agent.OutputSchema
		Messages []msg
	}{System: req.System, Stop: req.Stop, Choice: req.ToolChoice, Output: req.Output}
	for _, t := range req.Tools {
		t.Timeout = 0
		out.Tools = append(out.Tools, t)
	}
	for _, mm := range req.Messages {
		out.Messages = append(out.Messages, msg{mm.Role, m.parts(mm.Parts)})
	}
	if m.fault == "one-part" {
		for i := range out.Messages {
			out.Messages[i].Parts = slices.Clip(out.Messages[i].Parts[len(out.Messages[i].Parts)-1:])
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprint(m.fault, err))
	}
	return b
}

func (m *refModel) parts(ps []agent.Part) []any {
	var out []any
	for _, p := range ps {
		switch p := p.(type) {
		case agent.Opaque:
			if p.Provider == refProvider || m.fault == "sends-foreign" {
				out = append(out, p)
			}
		case agent.ToolCall:
			out = append(out, map[string]string{"id": p.ID, "name": p.Name, "args": string(p.Args)})
		case agent.ToolResult:
			out = append(out, map[string]any{"id": p.CallID, "parts": m.parts(p.Parts)})
		case agent.Thinking:
			if p.Provider != "" && p.Provider != refProvider && m.fault != "sends-foreign" {
				continue
			}
			out = append(out, map[string]any{"text": p.Text, "signature": p.Signature, "redacted": string(p.Redacted)})
		case agent.Image:
			out = append(out, map[string]any{"data": base64.StdEncoding.EncodeToString(p.Data), "url": p.URL})
		default:
			out = append(out, p)
		}
	}
	return out
}
