package scheduler

import (
	"fmt"
	"time"
)

// Request is one text to continue.
type Request struct {
	Prompt     []int32      // at least one token
	MaxTokens  int          // maximum number of tokens to generate; 0 means as many as fit into the context
	Sample     SampleParams // the zero value is greedy
	Constraint Constraint   // restricts the text that may be generated; nil means no restriction
	StopTokens []int32      // the text ends with the first of these that is generated
	LogProbs   int          // 0 means none; n > 0 means the chosen token and the n likeliest; -1 means only the chosen token

	// Key names the session to which the request belongs. Requests of one session share its history
	// and its acceptance of drafts. Cached prefixes are shared by all requests, whatever their
	// keys.
	Key string

	// References are texts, as tokens, that the continuation may repeat with changes, such as the
	// files being edited. They affect only the speed.
	References [][]int32

	// Drafters propose tokens for this request in addition to the engine's own drafters. A drafter
	// belongs to one request at a time.
	Drafters []Drafter

	NoSpeculation bool // verify no drafts at all

	// ForcedAsDrafts lets the model confirm the tokens that the constraint forces, instead of
	// taking them as they are. See [Constraint].
	ForcedAsDrafts bool
}

// Constraint defines the tokens that may follow each text. A state is one number, so that going
// back costs nothing.
//
// Mask, Next and Forced must agree. If Forced returns tokens that must follow, they are appended
// without asking the model: the text is already determined, and the tokens are its canonical
// spelling. With Request.ForcedAsDrafts they are only proposed, and the model may spell the same
// text differently. A Constraint is used by one goroutine at a time, but several requests may share
// one Constraint.
type Constraint interface {
	Start() int32
	Next(state, token int32) (int32, bool)   // false: the token is not allowed
	Mask(state int32, allowed []uint64)      // overwrites allowed with the bit set of allowed tokens
	Forced(state int32, dst []int32) []int32 // appends the tokens that must follow, if any
}

// Drafter proposes a continuation of the parameter tokens, which has the prompt and the generated
// text. It appends at most max tokens to dst. Within one request, the tokens of each call begin
// with those of the previous call. If the drafter has a method Name() string, metrics are kept
// under that name. If it has Close(), that is called when the request ends.
type Drafter interface {
	Draft(tokens []int32, max int, dst []int32) []int32
}

// Token is one item of a stream: a token, or the end of the text if Final is set.
type Token struct {
	ID      int32       // -1 in the final item
	LogProb float32     // natural logarithm of the model's probability (temperature 1, no penalties, no mask); 0 unless requested
	Top     []TokenProb // the likeliest tokens, best first, if requested
	Forced  bool        // appended because the constraint allowed nothing else; its LogProb is 0
	Stop    bool        // one of Request.StopTokens
	Cached  int         // number of prompt tokens found in the cache, for readers who leave before the final item
	Final   *Stats      // set in the last item of a stream that ended without an error
}

// TokenProb is a token and its log-probability.
type TokenProb struct {
	ID      int32
	LogProb float32
}

// Finish is the reason why a text ended.
type Finish string

// The reasons for which a text ends without an error.
const (
	FinishStop   Finish = "stop"   // a stop token
	FinishLength Finish = "length" // reached Request.MaxTokens
	FinishCached Finish = "cached" // a prefill: there was nothing to generate
)

// Stats reports the work and time that one request took.
type Stats struct {
	Finish    Finish
	Prompt    int // tokens of the prompt
	Cached    int // prompt tokens found in the cache
	Prefilled int // tokens computed before the first one was generated, counted again after a preemption
	Generated int // tokens generated, including forced ones
	Forced    int // tokens that the constraint forced
	Drafted   int // drafted tokens that were verified
	Accepted  int // drafted tokens that were accepted
	Passes    int // passes that generated, not counting prefill
	Preempted int // number of times that the request lost its pages and had to start again

	Queue   time.Duration // waiting for a slot
	Prefill time.Duration // from the slot to the first token
	Decode  time.Duration // from the first token to the last
}

// validate refuses requests that no engine could run. The parameters vocab and context are the
// sizes of the network's vocabulary and context.
func (r *Request) validate(vocab, context int) error {
	if len(r.Prompt) == 0 {
		return fmt.Errorf("%w: the prompt is empty; it needs at least one token, such as the tokenizer's BOS", ErrInvalid)
	}
	for i, t := range r.Prompt {
		if t < 0 || int(t) >= vocab {
			return fmt.Errorf("%w: prompt token %d at %d is outside the vocabulary of %d; was it made by another tokenizer?", ErrInvalid, t, i, vocab)
		}
	}
	if len(r.Prompt) >= context {
		return &ContextError{Context: context, Prompt: len(r.Prompt)}
	}
	if r.MaxTokens < 0 {
		return fmt.Errorf("%w: MaxTokens is %d; 0 means no limit but the context", ErrInvalid, r.MaxTokens)
	}
	if r.LogProbs < -1 || r.LogProbs > vocab {
		return fmt.Errorf("%w: LogProbs is %d; -1, 0 or up to the vocabulary's %d is possible", ErrInvalid, r.LogProbs, vocab)
	}
	return r.Sample.validate(vocab)
}
