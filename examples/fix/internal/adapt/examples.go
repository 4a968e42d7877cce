package adapt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

const (
	perExample  = 400 // approximate tokens per example
	fewest      = 8   // minimum number of functions; fewer show no habit to learn
	most        = 400 // maximum number of functions, unless the package under repair has more
	mostPerFunc = 8   // limit of examples per function: with more, a few functions would be memorised
)

// examples makes the examples: enough for the requested number of tokens, or as many as the
// functions allow.
func (cfg *Config) examples(ctx context.Context, tok *tokenizer.Tokenizer, begin time.Time, l *Learned) ([]dataset.Example, error) {
	sources := []corpus.Source{{Module: corpus.Module{Path: cfg.Module}, Dir: cfg.Root}}
	functions, err := cfg.functions(ctx, sources[0], begin)
	if err != nil {
		return nil, err
	}
	if l.Functions = len(functions); l.Functions < fewest {
		return nil, fmt.Errorf("%d functions of 3 lines and more that may be learnt from: %w", l.Functions, ErrTooLittle)
	}
	if cfg.Goroot != "" {
		sources = append(sources, corpus.Source{Module: corpus.Module{Path: corpus.Std}, Dir: filepath.Join(cfg.Goroot, "src")})
	}
	w := corpus.Writer{
		Sources: sources, Functions: functions, Tokenizer: tok, Seed: cfg.Seed, Shares: corpus.Adapting(),
		Count: min(int(cfg.Tokens)/perExample, mostPerFunc*len(functions)),
	}
	examples, err := w.Examples(ctx)
	if err != nil {
		return nil, err
	}
	if l.Examples = len(examples); l.Examples < fewest {
		return nil, fmt.Errorf("%d examples came of %d functions: %w", l.Examples, l.Functions, ErrTooLittle)
	}
	return examples, nil
}

// functions returns the functions of the package under repair, and functions from the rest of the
// module up to the limit. Very large modules are not read completely: reading takes at most a
// quarter of the time limit.
func (cfg *Config) functions(ctx context.Context, s corpus.Source, begin time.Time) ([]corpus.Function, error) {
	var near, far []corpus.Function
	dir := path.Clean(cfg.Package)
	for f := range corpus.Scan(s) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch {
		case cfg.Without != nil && cfg.Without(f.File, f.Name):
		case f.Dir() == dir:
			near = append(near, f)
		default:
			far = append(far, f)
		}
		if cfg.Limit > 0 && len(near)+len(far) >= most && time.Since(begin) > cfg.Limit/4 {
			break
		}
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 2))
	rng.Shuffle(len(far), func(i, j int) { far[i], far[j] = far[j], far[i] })
	return append(near, far[:min(len(far), max(0, most-len(near)))]...), nil
}
