package moe

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// embedding holds the settings in a file that concern embedding texts.
type embedding struct {
	pooling scheduler.Pooling
	err     error // reason why the model cannot embed
}

// readEmbedding reads the embedding settings of f. A file without them belongs to a generative
// model; the mean over a text's tokens is then the usual choice.
func readEmbedding(f *gguf.File, arch string) embedding {
	if causal, ok := f.Bool(arch + ".attention.causal"); ok && !causal {
		return embedding{err: errors.New("its tokens attend to those that follow them, and this engine computes causal attention only; take an embedding model made from a causal one, such as Qwen3-Embedding, or a server")}
	}
	kind, ok := f.Uint(arch + ".pooling_type")
	if !ok {
		return embedding{pooling: scheduler.PoolMean}
	}
	switch kind { // the numbers used by llama.cpp
	case 0, 1:
		return embedding{pooling: scheduler.PoolMean}
	case 2:
		return embedding{pooling: scheduler.PoolFirst}
	case 3:
		return embedding{pooling: scheduler.PoolLast}
	case 4:
		return embedding{err: errors.New("it is a model that ranks pairs of texts (pooling_type 4), not one that embeds them")}
	}
	return embedding{err: fmt.Errorf("its pooling_type %d is unknown; known are 0 to 4", kind)}
}

// Embed returns a vector for each of texts: the hidden states of a text's tokens after the last
// norm, pooled as the model's file specifies (pooling_type: mean, first or last token), or else by
// their mean. Vectors are as wide as the model's residual stream and are not normalised.
//
// Embed is made for embedding models that are causal transformers, such as the GGUF files of
// Qwen3-Embedding; those were trained on queries with an instruction in front. Other models that
// [Load] accepts also return vectors, but those of generative models do not distinguish meanings
// well. Encoders such as BERT, and models whose file turns causal attention off, are not supported:
// Load refuses the former, and Embed the latter.
//
// Control texts of the chat template are treated as plain text. For a text that is empty or longer
// than the context, Embed returns an error of kind [agent.ErrInvalid] or [agent.ErrContextLength]
// that has a method Refused, and no vectors for the other texts.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.embedding.err != nil {
		return nil, unsupported(fmt.Errorf("moe: embed with %s: %w", m.name, m.embedding.err))
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil, textError{invalid(fmt.Errorf("moe: embed text %d of %d: it is empty", i, len(texts)))}
		}
		v, err := m.engine.Embed(ctx, m.embedTokens(text), m.embedding.pooling)
		if err != nil {
			me := modelError(ctx, fmt.Errorf("moe: embed text %d of %d: %w", i, len(texts), err))
			if me.Kind == agent.ErrContextLength {
				return nil, textError{me}
			}
			return nil, me
		}
		vectors[i] = v
	}
	return vectors, nil
}

// textError is an error caused by one of the texts.
type textError struct{ *agent.ModelError }

// Refused returns true: only this text is refused, and other texts may be embedded.
func (textError) Refused() bool { return true }

// Unwrap returns the *[agent.ModelError].
func (e textError) Unwrap() error { return e.ModelError }

// embedTokens returns the tokens of a text between the special tokens that the model's file
// specifies.
func (m *Model) embedTokens(text string) []int32 {
	var tokens []int32
	if bos, ok := m.tok.BOS(); ok && m.tok.AddBOS() {
		tokens = append(tokens, bos)
	}
	tokens = m.tok.Append(tokens, text, false)
	if eos, ok := m.tok.EOS(); ok && m.tok.AddEOS() {
		tokens = append(tokens, eos)
	}
	return tokens
}
