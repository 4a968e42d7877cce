package adapt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// Config selects the training data and the length of the training. Model, Module and Root are
// required.
type Config struct {
	Model []byte // GGUF file of the model, with float or Q8_0 matrices

	Module  string // the module's path
	Root    string // its directory
	Package string // directory of the package under repair, relative to Root, with forward slashes; "" means "."
	Goroot  string // GOROOT of the toolchain; if "", types of the standard library are unknown
	// Without reports whether a function, named as in corpus.Function, is left out. Nil leaves out
	// no function.
	Without func(file, name string) bool

	Tokens  int64         // number of tokens to learn from; 0 means 250,000
	Limit   time.Duration // time limit, even if fewer tokens were learned; 0 means none
	Workers int           // goroutines that compute; 0 means one for each processor
	Seed    uint64

	// Progress, if not nil, is called after every step with the completed share of the work, from 0
	// to 1.
	Progress func(done float64)
}

// Learned is the result of Learn: a model adapted to a module.
type Learned struct {
	Model     []byte // GGUF file, in the format of Config.Model
	Functions int    // functions of the module that were broken for examples
	Examples  int    // examples made from them
	Tokens    int64  // tokens learned from
	Took      time.Duration
}

// ErrTooLittle is wrapped by the error of Learn if a module has too few functions to learn from.
var ErrTooLittle = errors.New("too little code to learn from")

// Hyperparameters. Batches are small, so that a quarter of a million tokens take some eighty steps,
// and the learning rate of the matrices is less than half of the last rate in the original
// training: at a higher rate, the model forgets what it learned there.
const (
	batchTokens = 3072
	rate        = 0.0006
	adamRate    = 0.0004
	warmup      = 0.05
	decay       = 0.9
)

// Learn trains a model on a module. It returns ErrTooLittle if the module is too small, and the
// error of ctx if ctx ends. In either case the original model can still be used.
func Learn(ctx context.Context, cfg Config) (*Learned, error) {
	begin := time.Now()
	if cfg.Tokens == 0 {
		cfg.Tokens = 250_000
	}
	l, err := cfg.learn(ctx, begin)
	if err != nil {
		return nil, fmt.Errorf("adapt: learn %s: %w", cfg.Module, err)
	}
	l.Took = time.Since(begin)
	return l, nil
}

func (cfg *Config) learn(ctx context.Context, begin time.Time) (*Learned, error) {
	f, err := gguf.Parse(cfg.Model)
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		return nil, err
	}
	l := &Learned{}
	examples, err := cfg.examples(ctx, tok, begin, l)
	if err != nil {
		return nil, err
	}
	m, err := train.ReadModel(f)
	if err != nil {
		return nil, err
	}
	if err := cfg.train(ctx, m, examples, begin, l); err != nil {
		return nil, err
	}
	l.Model, err = export(m, f)
	return l, err
}

// train goes through the examples until the requested number of tokens is learned or the time limit
// is reached.
func (cfg *Config) train(ctx context.Context, m *train.Model, examples []dataset.Example, begin time.Time, l *Learned) error {
	t, err := train.NewTrainer(m, train.Config{Workers: cfg.Workers, BFloat16: true, Rate: rate, AdamRate: adamRate})
	if err != nil {
		return err
	}
	defer t.Close()
	mix, err := train.NewMix([]train.Mixed{{Source: train.Examples(examples), Share: 1, Name: cfg.Module}}, m.Shape().Context, cfg.Seed)
	if err != nil {
		return err
	}
	schedule := train.Schedule{Warmup: warmup, Decay: decay}
	for {
		done := float64(l.Tokens) / float64(cfg.Tokens)
		if cfg.Limit > 0 {
			done = max(done, float64(time.Since(begin))/float64(cfg.Limit))
		}
		if cfg.Progress != nil {
			cfg.Progress(min(1, done))
		}
		if done >= 1 && l.Tokens == 0 {
			return fmt.Errorf("the %v were over before anything was learnt", cfg.Limit)
		}
		if done >= 1 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		stats, err := t.Step(mix.Batch(batchTokens), schedule.Rate(done))
		if err != nil {
			return err
		}
		l.Tokens += int64(stats.Tokens)
	}
}

// export writes the model in the format of the file that it came from.
func export(m *train.Model, from *gguf.File) ([]byte, error) {
	text := func(key string) string { s, _ := from.String(key); return s }
	typ := gguf.TypeQ8_0
	if t, ok := from.Tensor("blk.0.attn_q.weight"); ok {
		typ = t.Type
	}
	var w gguf.Writer
	err := m.Export(&w, train.ExportConfig{
		Type: typ, Name: text("general.name"), License: text("general.license"), Author: text("general.author"), About: text("general.description"),
		Vocab: func(w *gguf.Writer) error {
			w.CopyMetadata(from, func(key string) bool { return strings.HasPrefix(key, "tokenizer.") })
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = w.WriteTo(&b)
	return b.Bytes(), err
}
