package scheduler

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// Pooling is a way to combine the hidden states of a text's tokens into one vector.
type Pooling int

// The ways of pooling.
const (
	PoolMean  Pooling = iota // the mean of all hidden states
	PoolLast                 // the hidden state of the last token
	PoolFirst                // the hidden state of the first token
)

// Embed returns one vector for a text: the hidden states of its tokens after the last norm, pooled
// but not scaled. Keys and values are in F32, whatever the type of the engine's cache. Embed and
// the scheduler use the network alternately.
func (e *Engine) Embed(ctx context.Context, tokens []int32, p Pooling) ([]float32, error) {
	r := Request{Prompt: tokens, NoSpeculation: true}
	if err := r.validate(e.f.vocab(), e.cfg.Context+1); err != nil {
		return nil, err
	}
	nf, ok := e.f.(netForwarder)
	if !ok {
		return nil, fmt.Errorf("%w: this engine has no hidden states", ErrInvalid)
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.scoring.Done()
	if p == PoolFirst {
		tokens = tokens[:1] // the first token does not attend to the others, so they are not needed
	}
	c, seq, err := exactCache(nf.n, len(tokens))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sum := make([]float64, nf.n.Hyper().Embed)
	rows := 0
	for at := 0; at < len(tokens); {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k := min(e.cfg.PassTokens, len(tokens)-at)
		s := transformer.Slice{Seq: seq, Tokens: tokens[at : at+k], Outputs: k}
		at += k
		if p == PoolLast {
			s.Outputs = 0
			if at == len(tokens) {
				s.Outputs = 1
			}
		}
		if err := e.exclusively(func() error { return poolPass(nf.n, c, s, sum) }); err != nil {
			return nil, err
		}
		rows += s.Outputs
	}
	mean := make([]float32, len(sum))
	for i, v := range sum {
		mean[i] = float32(v / float64(rows))
	}
	return mean, nil
}

// poolPass computes a slice and adds its hidden states to sum.
func poolPass(n *transformer.Network, c *transformer.Cache, s transformer.Slice, sum []float64) error {
	if err := n.ForwardHidden(c, []transformer.Slice{s}); err != nil {
		return err
	}
	for i := range s.Outputs {
		for j, v := range n.Hidden(i) {
			sum[j] += float64(v)
		}
	}
	return nil
}
