package agent

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is a language model that can call tools. Stream is its only required method.
//
// Stream yields the chunks of one response and ends after [Finish]. A failure is yielded as the
// last pair, with a *[ModelError]; a stream that ends without Finish or an error is incomplete.
// Stream must honour ctx, must release its resources if the consumer stops early, must not retain
// or modify req after it returns, and may be called concurrently.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// ModelFunc adapts a function to the [Model] interface.
type ModelFunc func(ctx context.Context, req *Request) iter.Seq2[Chunk, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error] {
	return f(ctx, req)
}

// Request is one question to a model. Its slices are shared with the session: a Model may read but
// must not write them.
type Request struct {
	System      string        // instructions before the first message
	Messages    []Message     // the conversation, oldest first
	Tools       []ToolSpec    // tools that the model may call
	ToolChoice  ToolChoice    // whether it may, must or must not call a tool
	Output      *OutputSchema // structured output: the answer's text must be JSON of this schema
	MaxOutput   int           // maximum number of output tokens; 0 leaves it to the backend
	Temperature *float64      // nil leaves it to the backend
	Stop        []string      // texts that end the answer
	Effort      Effort        // how much to reason; empty leaves it to the backend
	Seed        *int64        // for backends that sample reproducibly

	Purpose   Purpose // purpose of the answer; a router may choose a model by it
	SessionID string  // stable for a conversation, so that a backend can keep its cache warm
	// Epoch counts how often the history was rewritten (by a compaction or a fork). Within an epoch
	// each request starts with the bytes of the previous one.
	Epoch int
	// Extra is merged into the provider's request body, for options that this contract does not
	// have.
	Extra map[string]json.RawMessage
}

// Purpose is the role of a model call within a run.
type Purpose string

// The purposes the loop itself uses; a host may add its own.
const (
	PurposeAct       Purpose = "act"
	PurposePlan      Purpose = "plan"
	PurposeSummarise Purpose = "summarise"
	PurposeTitle     Purpose = "title"
	PurposeSubAgent  Purpose = "sub-agent"
)

// Effort sets the amount of reasoning before a model answers.
type Effort string

// The efforts that providers agree on. A backend maps them to its own setting or token budget.
const (
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// ToolChoice says whether a model may call tools. The zero value leaves the choice to the model.
type ToolChoice struct {
	Mode ToolMode
	Name string // with ToolModeNamed: the tool to call
}

// ToolMode is the kind of a [ToolChoice].
type ToolMode string

// The tool modes.
const (
	ToolModeAuto     ToolMode = ""         // the model decides
	ToolModeNone     ToolMode = "none"     // no call
	ToolModeRequired ToolMode = "required" // at least one call
	ToolModeNamed    ToolMode = "named"    // a call of the tool Name
)

// Response is a complete answer of a model.
type Response struct {
	Message Message // role assistant
	Usage   Usage
	Finish  FinishReason
}

// Generate collects a stream into one response. If the stream is incomplete or the context ended,
// it returns a *[ModelError] together with the partial response.
func Generate(ctx context.Context, m Model, req *Request) (*Response, error) {
	var g generation
	m.Stream(ctx, req)(g.take)
	if g.err != nil {
		return g.response(), AsModelError(g.err)
	}
	if err := g.complete(ctx); err != nil {
		return g.response(), err
	}
	return g.response(), nil
}

// generation collects a stream; its method is the body of a loop over one. It is a struct because a
// closure would allocate each captured variable separately.
type generation struct {
	responseBuilder
	err error
}

func (g *generation) take(chunk Chunk, err error) bool {
	if err != nil {
		g.err = err
		return false
	}
	if !g.ended || !isContent(chunk) { // after Finish only a late Usage counts
		g.add(chunk)
	}
	return true
}
