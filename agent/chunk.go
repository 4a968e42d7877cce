package agent

// Chunk is one increment of a streamed response. The set is sealed: [TextDelta], [ThinkingDelta],
// [ToolCallStart], [ToolCallDelta], [Opaque], [Usage] and [Finish]. Every Chunk is also an [Event].
type Chunk interface {
	Event
	chunk()
}

// TextDelta is a piece of the answer's text.
type TextDelta struct{ Text string }

// ThinkingDelta is a piece of the model's reasoning. A delta with a Signature or Redacted data
// closes its thinking part: the next ThinkingDelta opens a new one. A delta with a different
// Provider also opens a new part.
type ThinkingDelta struct {
	Text      string
	Signature string
	Redacted  []byte
	Provider  string // see [Thinking]
}

// ToolCallStart announces a tool call. Index numbers the calls of one response from 0 and ties
// later deltas to it; the deltas of several calls may interleave.
type ToolCallStart struct {
	Index int
	ID    string
	Name  string
}

// ToolCallDelta is a piece of the JSON arguments of the call with that Index.
type ToolCallDelta struct {
	Index int
	Args  string
}

// Usage counts the tokens of one response. Input counts all prompt tokens: CachedInput of them were
// read from a prompt cache and CacheWrite were written to it. Output counts all generated tokens:
// Reasoning of them were hidden or shown reasoning. In a stream a Usage chunk holds the totals so
// far, so the last one is the final count.
type Usage struct {
	Input       int64 `json:"input,omitempty"`
	CachedInput int64 `json:"cached_input,omitempty"`
	CacheWrite  int64 `json:"cache_write,omitempty"`
	Output      int64 `json:"output,omitempty"`
	Reasoning   int64 `json:"reasoning,omitempty"`
}

// Add returns the field-wise sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:       u.Input + v.Input,
		CachedInput: u.CachedInput + v.CachedInput,
		CacheWrite:  u.CacheWrite + v.CacheWrite,
		Output:      u.Output + v.Output,
		Reasoning:   u.Reasoning + v.Reasoning,
	}
}

// without returns the field-wise difference of u and v, which is part of u.
func (u Usage) without(v Usage) Usage {
	return u.Add(Usage{-v.Input, -v.CachedInput, -v.CacheWrite, -v.Output, -v.Reasoning})
}

// clamp sets negative counts to zero: a faulty report must not increase the remaining budget.
func (u *Usage) clamp() {
	for _, n := range []*int64{&u.Input, &u.CachedInput, &u.CacheWrite, &u.Output, &u.Reasoning} {
		*n = max(*n, 0)
	}
}

// Total returns the tokens that count against a token limit: input plus output.
func (u Usage) Total() int64 { return u.Input + u.Output }

// FinishReason is the reason why a model stopped.
type FinishReason string

// The reasons a response can end with.
const (
	FinishStop      FinishReason = "stop"           // the answer is complete
	FinishTools     FinishReason = "tool_calls"     // the model waits for tool results
	FinishLength    FinishReason = "length"         // the output limit was reached: the last part may be incomplete
	FinishFilter    FinishReason = "content_filter" // the provider withheld the rest
	FinishRefusal   FinishReason = "refusal"        // the model declined
	FinishPause     FinishReason = "pause"          // the provider paused a long turn; send the history back to continue
	FinishMalformed FinishReason = "malformed_call" // the provider could not read the model's tool call
	FinishOther     FinishReason = "other"          // a reason unknown to this library
)

// Finish is the last chunk of every complete response.
type Finish struct{ Reason FinishReason }

func (TextDelta) chunk()     {}
func (ThinkingDelta) chunk() {}
func (ToolCallStart) chunk() {}
func (ToolCallDelta) chunk() {}
func (Opaque) chunk()        {}
func (Usage) chunk()         {}
func (Finish) chunk()        {}
