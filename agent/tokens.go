package agent

import "context"

// Token is one token that a model generated, for those who need more than text: log-probabilities
// for a client, token ids for training.
type Token struct {
	ID      int32
	Text    string  // its bytes; may be a part of a character
	LogProb float64 // natural logarithm of its probability
	Top     []TokenAlternative
}

// TokenAlternative is a token that could have stood in a place, with its log-probability.
type TokenAlternative struct {
	ID      int32
	Text    string
	LogProb float64
}

// TokenTrace asks a model for the tokens of its answer.
type TokenTrace struct {
	Top int // alternatives wanted for each token
	// Token is called for every generated token, in order and before the chunk that the token's
	// text is part of, on the goroutine that reads the stream.
	Token func(Token)
}

type tokenTraceKey struct{}

// WithTokenTrace returns a context whose model calls report their tokens to t. Models that do not
// see tokens ignore it.
func WithTokenTrace(ctx context.Context, t *TokenTrace) context.Context {
	return context.WithValue(ctx, tokenTraceKey{}, t)
}

// ContextTokenTrace returns the trace that a model is to report to, nil for none.
func ContextTokenTrace(ctx context.Context) *TokenTrace {
	t, _ := ctx.Value(tokenTraceKey{}).(*TokenTrace)
	return t
}
