package langchain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

var (
	errNoChoice = errors.New("read response: it has no choice")
	errCut      = errors.New("read response: it has no stop reason, so it may be cut short; send the request again")
)

// finish yields the parts of the response that have not been streamed, the usage, and the end.
func (m *model) finish(req *agent.Request, res *llms.ContentResponse, s *streaming, yield func(agent.Chunk, error) bool) {
	f, err := fold(res)
	if err == nil && f.stop == "" && !m.traits.noStop {
		err = errCut
	}
	if err != nil {
		yield(nil, m.fail(agent.ErrIncomplete, err))
		return
	}
	rest, ok := strings.CutPrefix(f.text, string(s.text))
	if !ok {
		yield(nil, m.fail(agent.ErrServer, fmt.Errorf("read response: its text is not what was streamed")))
		return
	}
	for _, c := range f.chunks(rest, s.think == 0, s.thinker, len(req.Messages)) {
		if !yield(c, nil) {
			return
		}
	}
	reason, failed := f.reason()
	if failed != "" {
		yield(nil, m.fail(failed, fmt.Errorf("read response: it ended with stop reason %s; send the request again", f.stop)))
		return
	}
	yield(agent.Finish{Reason: reason}, nil)
}

// folded is one response merged from all its choices: some clients return one choice for every part
// of an answer.
type folded struct {
	text     string
	thinking []agent.ThinkingDelta
	calls    []llms.ToolCall
	usage    agent.Usage
	counted  bool
	stop     string
}

func fold(res *llms.ContentResponse) (*folded, error) {
	if res == nil {
		return nil, errNoChoice
	}
	f := &folded{}
	choices := 0
	for _, c := range res.Choices {
		if c == nil {
			continue
		}
		if choices == 0 { // every choice repeats the usage
			f.usage, f.counted = usageOf(c.GenerationInfo)
		}
		choices++
		f.text += c.Content
		f.addThinking(c)
		f.addCalls(c)
		if c.StopReason != "" && c.StopReason != "null" {
			f.stop = c.StopReason
		}
	}
	if choices == 0 {
		return nil, errNoChoice
	}
	return f, nil
}

func (f *folded) addThinking(c *llms.ContentChoice) {
	d := agent.ThinkingDelta{Text: c.ReasoningContent}
	if d.Text == "" && c.Content == "" { // if there is a text, it repeats that
		d.Text, _ = c.GenerationInfo["ThinkingContent"].(string)
	}
	d.Signature, _ = c.GenerationInfo["ThinkingSignature"].(string)
	if d.Text != "" || d.Signature != "" {
		f.thinking = append(f.thinking, d)
	}
}

func (f *folded) addCalls(c *llms.ContentChoice) {
	if len(c.ToolCalls) == 0 && c.FuncCall != nil {
		f.calls = append(f.calls, llms.ToolCall{FunctionCall: c.FuncCall})
	}
	for _, call := range c.ToolCalls {
		if call.FunctionCall != nil {
			f.calls = append(f.calls, call)
		}
	}
}

// chunks returns the parts of the response as a stream. messages is used to make ids for calls that
// have none, unique within a conversation.
func (f *folded) chunks(text string, withThinking bool, thinker string, messages int) []agent.Chunk {
	var out []agent.Chunk
	if withThinking {
		for _, d := range f.thinking {
			d.Provider = thinker
			out = append(out, d)
		}
	}
	if text != "" {
		out = append(out, agent.TextDelta{Text: text})
	}
	used := map[string]bool{}
	for i, c := range f.calls {
		id := c.ID
		if id == "" || used[id] {
			id = fmt.Sprintf("call_%d_%d", messages, i)
		}
		used[id] = true
		out = append(out, agent.ToolCallStart{Index: i, ID: id, Name: c.FunctionCall.Name})
		if c.FunctionCall.Arguments != "" {
			out = append(out, agent.ToolCallDelta{Index: i, Args: c.FunctionCall.Arguments})
		}
	}
	if f.counted {
		out = append(out, f.usage)
	}
	return out
}

// reason maps the providers' words for why a response ended. A word that means a failure gives the
// kind of the error.
func (f *folded) reason() (agent.FinishReason, agent.ErrorKind) {
	reason, failed := agent.FinishStop, agent.ErrorKind("")
	if f.stop != "" {
		reason, failed = wire.Finish(f.stop)
	}
	if reason == agent.FinishStop && len(f.calls) > 0 { // Google's clients say stop
		reason = agent.FinishTools
	}
	return reason, failed
}

// usageOf reads the token counts, which every client names differently, and reports whether there
// were any. Anthropic's clients do not include cached tokens in the input.
func usageOf(info map[string]any) (agent.Usage, bool) {
	var u agent.Usage
	var ok bool
	if u.Input, ok = count(info, "PromptTokens"); !ok {
		u.Input, ok = count(info, "InputTokens", "input_tokens")
		read, _ := count(info, "CacheReadInputTokens")
		write, _ := count(info, "CacheCreationInputTokens")
		u.Input += read + write
		u.CachedInput = read
	} else {
		u.CachedInput, _ = count(info, "PromptCachedTokens")
	}
	u.CacheWrite, _ = count(info, "CacheCreationInputTokens")
	output, counted := count(info, "CompletionTokens", "OutputTokens", "output_tokens")
	u.Output = output
	u.Reasoning, _ = count(info, "ReasoningTokens", "ThinkingTokens")
	return u, ok || counted
}

// count returns the first of the named counts that is present.
func count(info map[string]any, names ...string) (int64, bool) {
	for _, name := range names {
		switch n := info[name].(type) {
		case int:
			return int64(n), true
		case int32:
			return int64(n), true
		case int64:
			return n, true
		case float64:
			return int64(n), true
		}
	}
	return 0, false
}
