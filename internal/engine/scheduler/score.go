package scheduler

import (
	"context"
	"errors"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// exactLogits computes the logits of tokens with keys and values in F32, whatever the type of the
// engine's cache. That is because callers compare logits, and if the choice between experts is
// close, a rounded key can change it. It uses the network alternately with the scheduler, one chunk
// at a time.
func (e *Engine) exactLogits(ctx context.Context, n *transformer.Network, tokens []int32) ([][]float32, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.scoring.Done()
	c, seq, err := exactCache(n, len(tokens))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	rows := make([][]float32, 0, len(tokens))
	for len(tokens) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k := min(scoreChunk, len(tokens))
		if rows, err = e.scorePass(n, c, transformer.Slice{Seq: seq, Tokens: tokens[:k], Outputs: k}, rows); err != nil {
			return nil, err
		}
		tokens = tokens[k:]
	}
	return rows, nil
}

// exactCache creates a cache in F32 for one text of the given length.
func exactCache(n *transformer.Network, tokens int) (*transformer.Cache, *transformer.Seq, error) {
	c, err := transformer.NewCache(n, transformer.CacheConfig{Type: gguf.TypeF32, Pages: transformer.PagesFor(tokens)})
	if err != nil {
		return nil, nil, err
	}
	seq := &transformer.Seq{}
	for range transformer.PagesFor(tokens) {
		page, _ := c.Alloc() // cannot fail: the cache has as many pages as needed
		seq.Pages = append(seq.Pages, page)
	}
	return c, seq, nil
}

// enter registers a computation of logits, unless the engine is closing.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return ErrClosed
	}
	e.scoring.Add(1)
	return nil
}

// scorePass computes a slice between two passes of the scheduler and appends copies of its logits.
func (e *Engine) scorePass(n *transformer.Network, c *transformer.Cache, s transformer.Slice, rows [][]float32) ([][]float32, error) {
	err := e.exclusively(func() error {
		if err := n.Forward(c, []transformer.Slice{s}); err != nil {
			return err
		}
		for i := range s.Outputs {
			rows = append(rows, append([]float32(nil), n.Logits(i)...))
		}
		return nil
	})
	return rows, err
}

// exclusively calls the function do, which uses the network, between two passes of the scheduler.
func (e *Engine) exclusively(do func() error) error {
	e.network.Lock()
	defer e.network.Unlock()
	e.mu.Lock()
	abort := e.abort
	e.mu.Unlock()
	if abort {
		return ErrClosed
	}
	err := do()
	if _, ok := errors.AsType[*transformer.NumberError](err); ok {
		return ErrNaN
	}
	return err
}
