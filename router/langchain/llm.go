package langchain

import (
	"context"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// LLMOption changes how [LLM] uses a model.
type LLMOption func(*llm)

// EditRequest lets edit change every request before it is sent, to set fields that langchaingo has
// no option for, such as Effort, Output or SessionID.
func EditRequest(edit func(*agent.Request)) LLMOption { return func(l *llm) { l.edit = edit } }

// llm is a model of this library behind langchaingo's interface.
type llm struct {
	model agent.Model
	edit  func(*agent.Request)
}

// LLM returns m as a langchaingo model. It streams text and reasoning to the streaming functions of
// a call, sends tools and tool responses, and reports usage in the choice's GenerationInfo under
// the names of langchaingo's OpenAI client and the cache names of its Anthropic client.
//
// An answer is one choice with all its text and calls. Errors are *[llms.Error] values that wrap an
// [*agent.ModelError]. The model option is ignored, a temperature or seed of 0 means none, and
// asking for more than one candidate is an error.
func LLM(m agent.Model, opts ...LLMOption) llms.Model {
	l := &llm{model: m}
	for _, o := range opts {
		o(l)
	}
	return l
}

// Call generates an answer to a single prompt.
func (l *llm) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, l, prompt, options...)
}

// GenerateContent asks the model and collects its answer.
func (l *llm) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var opts llms.CallOptions
	for _, o := range options {
		o(&opts)
	}
	if l.model == nil {
		return nil, wrap(errors.New("the model is nil; pass one to langchain.LLM"))
	}
	req, err := agentRequest(messages, &opts)
	if err != nil {
		return nil, wrap(&agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("langchain: generate content: %w", err)})
	}
	if l.edit != nil {
		l.edit(req)
	}
	tap := agent.ModelFunc(func(ctx context.Context, req *agent.Request) agentStream {
		return tee(ctx, l.model.Stream(ctx, req), &opts)
	})
	res, err := agent.Generate(ctx, tap, req)
	if err != nil {
		return nil, wrap(err)
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice(res)}}, nil
}

// tee passes a stream on and also calls the call's streaming functions, whose error ends it.
func tee(ctx context.Context, in agentStream, opts *llms.CallOptions) agentStream {
	return func(yield func(agent.Chunk, error) bool) {
		for c, err := range in {
			if err == nil {
				err = show(ctx, c, opts)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func show(ctx context.Context, c agent.Chunk, opts *llms.CallOptions) error {
	var text, reasoning []byte
	switch c := c.(type) {
	case agent.TextDelta:
		text = []byte(c.Text)
	case agent.ThinkingDelta:
		reasoning = []byte(c.Text)
	}
	if len(text) > 0 && opts.StreamingFunc != nil {
		if err := opts.StreamingFunc(ctx, text); err != nil {
			return fmt.Errorf("langchain: generate content: streaming func: %w", err)
		}
	}
	if len(text)+len(reasoning) > 0 && opts.StreamingReasoningFunc != nil {
		if err := opts.StreamingReasoningFunc(ctx, reasoning, text); err != nil {
			return fmt.Errorf("langchain: generate content: streaming reasoning func: %w", err)
		}
	}
	return nil
}

// choice converts an answer to langchaingo's form.
func choice(res *agent.Response) *llms.ContentChoice {
	c := &llms.ContentChoice{Content: res.Message.Text(), StopReason: string(res.Finish)}
	info := map[string]any{
		"PromptTokens":             int(res.Usage.Input),
		"CompletionTokens":         int(res.Usage.Output),
		"TotalTokens":              int(res.Usage.Total()),
		"ReasoningTokens":          int(res.Usage.Reasoning),
		"ThinkingTokens":           int(res.Usage.Reasoning),
		"PromptCachedTokens":       int(res.Usage.CachedInput),
		"CacheReadInputTokens":     int(res.Usage.CachedInput),
		"CacheCreationInputTokens": int(res.Usage.CacheWrite),
	}
	for _, p := range res.Message.Parts {
		switch p := p.(type) {
		case agent.Thinking:
			c.ReasoningContent += p.Text
			if p.Signature != "" {
				info["ThinkingSignature"] = p.Signature
			}
		case agent.ToolCall:
			c.ToolCalls = append(c.ToolCalls, llms.ToolCall{ID: p.ID, Type: "function",
				FunctionCall: &llms.FunctionCall{Name: p.Name, Arguments: string(p.Args)}})
		}
	}
	info["ThinkingContent"] = c.ReasoningContent
	c.GenerationInfo = info
	if len(c.ToolCalls) > 0 {
		c.FuncCall = c.ToolCalls[0].FunctionCall
	}
	return c
}

// wrap adds the code to an error by which langchaingo's helpers, such as IsRateLimitError,
// recognise it.
func wrap(err error) error {
	me := agent.AsModelError(err)
	return llms.NewError(errorCode(me.Kind), "luthier", me.Error()).WithCause(err)
}

func errorCode(kind agent.ErrorKind) llms.ErrorCode {
	switch kind {
	case agent.ErrRateLimit:
		return llms.ErrCodeRateLimit
	case agent.ErrOverloaded, agent.ErrServer, agent.ErrNetwork, agent.ErrIncomplete:
		return llms.ErrCodeProviderUnavailable
	case agent.ErrTimeout:
		return llms.ErrCodeTimeout
	case agent.ErrContextLength:
		return llms.ErrCodeTokenLimit
	case agent.ErrAuth:
		return llms.ErrCodeAuthentication
	case agent.ErrInvalid:
		return llms.ErrCodeInvalidRequest
	case agent.ErrUnsupported:
		return llms.ErrCodeNotImplemented
	case agent.ErrFilter:
		return llms.ErrCodeContentFilter
	case agent.ErrCanceled:
		return llms.ErrCodeCanceled
	}
	return llms.ErrCodeUnknown
}
