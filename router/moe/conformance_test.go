package moe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/router/serve"
)

// TestConformance runs the conformance suite with the official OpenAI client against the engine
// behind package serve. Random weights do not produce the answers that a scenario needs, so a
// grammar constrains each answer to its words: the engine generates them token by token, and they
// go through the tool-call parser, the server, HTTP and the client. Behaviour that an engine does
// not have by itself, such as failing with a given status or breaking off, is added between the
// engine and the server.
//
// Evidence: engine · The official OpenAI client passes the suite against the engine
func TestConformance(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	handler, err := serve.New(prompted{load(t, moe.Config{})}, serve.Config{Name: "engine"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	var opts []agenttest.ConformanceOption
	for name, why := range map[string]string{
		"text-long-line":        "longer than the context of the small model",
		"tool-call-large":       "longer than the context of the small model",
		"tool-call-bad-json":    "the engine's grammars and its parser know sound calls; a malformed one is reported as text",
		"tool-arguments-replay": "the engine writes no malformed arguments",
		"image":                 "the engine takes text only, and says so",
		"image-url":             "the engine takes text only, and says so",
		"tool-result-image":     "the engine takes text only, and says so",
		"opaque-replay":         "the chat API has no field for a provider's own parts",
		"thinking":              "the line break at the end of reasoning belongs to the template; see the same in TestSays",
	} {
		opts = append(opts, agenttest.Skip(name, why))
	}
	agenttest.Conformance(t, func() agent.Model {
		m, err := openai.New(openai.Config{Model: "engine", BaseURL: srv.URL + "/v1", NoKey: true, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, opts...)
}

// prompted is the engine, constrained to the words of the scenario that a request names.
type prompted struct{ *moe.Model }

func (p prompted) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		reply, err := replyTo(req)
		if err != nil {
			yield(nil, err)
			return
		}
		if reply.Status != 0 && reply.Status != http.StatusOK {
			yield(nil, failure(reply.Status, reply.Failure, reply.Header["Retry-After"]))
			return
		}
		r := rawAnswer(reply)
		told := *req
		told.Extra = map[string]json.RawMessage{"grammar": literal(r.text)}
		for c, err := range p.Model.Stream(ctx, &told) {
			if _, last := c.(agent.Finish); err == nil && last {
				break
			}
			if !yield(r.adjust(c), err) || err != nil {
				return
			}
		}
		r.end(ctx, yield)
	}
}

// script is the part of a reply that the engine generates, together with the events after it.
type script struct {
	text  string
	ids   []string
	usage *agent.Usage
	last  agenttest.WireEvent
}

// rawAnswer writes a reply in the format of the model's template.
func rawAnswer(reply agenttest.Reply) *script {
	r := &script{}
	var b strings.Builder
	thinking := false
	args := map[int]string{}
	var names []string
	for _, ev := range reply.Events {
		if _, ok := ev.(agenttest.WireThinking); !ok && thinking {
			if _, skip := ev.(agenttest.WireEmpty); !skip {
				b.WriteString("\n</think>\n\n")
				thinking = false
			}
		}
		switch ev := ev.(type) {
		case agenttest.WireText:
			b.WriteString(ev.Text)
		case agenttest.WireThinking:
			if !thinking {
				b.WriteString("<think>\n")
				thinking = true
			}
			b.WriteString(ev.Text)
		case agenttest.WireCallStart:
			r.ids, names = append(r.ids, ev.ID), append(names, ev.Name)
		case agenttest.WireCallArgs:
			args[ev.Index] += ev.Args
		case agenttest.WireUsage:
			r.usage = &ev.Usage
		case agenttest.WireFinish, agenttest.WireCut, agenttest.WireReset, agenttest.WireStall, agenttest.WireGarbage, agenttest.WireFailure:
			if r.last == nil {
				r.last = ev
			}
		}
		if r.last != nil {
			break
		}
	}
	for i, name := range names {
		fmt.Fprintf(&b, "<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>\n", name, orEmpty(args[i]))
	}
	r.text = b.String()
	return r
}

func orEmpty(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// adjust sets the ids and counts of the scenario in a chunk.
func (r *script) adjust(c agent.Chunk) agent.Chunk {
	switch c := c.(type) {
	case agent.ToolCallStart:
		c.ID = r.ids[c.Index]
		return c
	case agent.Usage:
		if r.usage != nil {
			return *r.usage
		}
	}
	return c
}

// end performs the events that come after the engine's words.
func (r *script) end(ctx context.Context, yield func(agent.Chunk, error) bool) {
	switch ev := r.last.(type) {
	case agenttest.WireFinish:
		yield(agent.Finish{Reason: ev.Reason}, nil)
	case agenttest.WireFailure:
		yield(nil, failure(0, ev.Failure, ""))
	case agenttest.WireStall:
		<-ctx.Done()
		yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Err: ctx.Err()})
	default: // the stream breaks off
	}
}

func failure(status int, f agenttest.Failure, retryAfter string) *agent.ModelError {
	kinds := map[string]agent.ErrorKind{
		agenttest.FailContextLength: agent.ErrContextLength, agenttest.FailAuth: agent.ErrAuth, agenttest.FailRateLimit: agent.ErrRateLimit,
		agenttest.FailOverloaded: agent.ErrOverloaded, agenttest.FailServer: agent.ErrServer, agenttest.FailInvalid: agent.ErrInvalid, agenttest.FailNotFound: agent.ErrInvalid,
	}
	me := &agent.ModelError{Kind: kinds[f.Code], Status: status, Err: errors.New(f.Message)}
	if seconds, err := time.ParseDuration(retryAfter + "s"); err == nil {
		me.RetryAfter = seconds
	} else if retryAfter != "" {
		me.RetryAfter = 30 * time.Second
	}
	return me
}

// replyTo returns the answer expected by the scenario that the request names.
func replyTo(req *agent.Request) (agenttest.Reply, error) {
	var text strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case agent.Text:
				text.WriteString(p.Text + "\n")
			case agent.ToolResult:
				text.WriteString(p.Text() + "\n")
			}
		}
	}
	name, n, ok := agenttest.FindMarker([]byte(text.String()))
	if !ok {
		return agenttest.Reply{}, errors.New("the request names no scenario")
	}
	sc, ok := agenttest.FindScenario(name)
	if !ok || n > len(sc.Exchanges) {
		return agenttest.Reply{}, fmt.Errorf("no scenario %q with exchange %d", name, n)
	}
	return sc.Exchanges[n-1].Reply, nil
}
