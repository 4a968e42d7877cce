package embed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/luthier-dev/luthier/retrieval"
)

// Model is a model in this process that embeds texts, such as *moe.Model of package router/moe.
type Model interface {
	Name() string
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// LocalConfig configures an embedder for a model in this process. The zero value is ready.
type LocalConfig struct {
	// Name identifies the model in the names of caches. Empty means the model's own name, which two
	// files may share: set a name that distinguishes quantisations and versions if that matters.
	Name string
	// Prefixes are put before texts; nil means those known for the model's name.
	Prefixes *Prefixes
	// MaxText limits the bytes of a text that are embedded; the rest is ignored. 0 means 16 KiB.
	// The model refuses texts that are longer than its context.
	MaxText int
}

// NewLocal returns an embedder for a model in this process. The caller must close the model.
func NewLocal(m Model, cfg LocalConfig) (retrieval.Embedder, error) {
	if m == nil {
		return nil, errors.New("embed: new local embedder: the model is nil")
	}
	if cfg.Name == "" {
		cfg.Name = m.Name()
	}
	if cfg.Name == "" {
		return nil, errors.New("embed: new local embedder: the model has no name; set LocalConfig.Name, vectors are kept under it")
	}
	return &local{model: m, name: cfg.Name, prep: newPreparation(cfg.Name, cfg.Prefixes, cfg.MaxText)}, nil
}

type local struct {
	model Model
	name  string
	prep  preparation
	dim   atomic.Int64 // 0 until a text has been embedded
}

func (l *local) Name() string { return l.prep.name("local "+l.name, 0) }

func (l *local) Dim() int { return int(l.dim.Load()) }

func (l *local) Embed(ctx context.Context, texts []string, kind retrieval.EmbedKind) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, ctx.Err()
	}
	vectors, err := l.model.Embed(ctx, l.prep.apply(texts, kind))
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("it gave %d vectors for %d texts", len(vectors), len(texts))
	}
	for i := 0; err == nil && i < len(vectors); i++ {
		if err = checkVector(vectors[i], l.Dim()); err != nil {
			err = fmt.Errorf("vector %d: %w", i, err)
		}
		l.dim.CompareAndSwap(0, int64(len(vectors[i])))
	}
	if err != nil {
		return nil, fmt.Errorf("embed: embed %d texts with %s: %w", len(texts), l.name, err)
	}
	return vectors, nil
}
