package main

import (
	"fmt"

	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// beamTokens is the size of the key-value cache: it is large because a beam keeps the ends of its
// paths there.
const beamTokens = 16 << 10

// beams returns the configuration for a model that is not part of this program. Everything in its
// answers except decisions is forced.
func beams() moe.Config { return moe.Config{KVTokens: beamTokens, Constrain: moe.ConstrainExact} }

// load loads the model that the options specify.
func load(o options) (*moe.Model, error) {
	if o.model == "" {
		return embedded.Load(moe.Config{Draft: o.draft})
	}
	cfg := beams()
	cfg.Draft = o.draft
	m, err := moe.Load(o.model, cfg)
	if err != nil {
		return nil, fmt.Errorf("load the model: %w", err)
	}
	return m, nil
}

// loadPlain loads the model that the options specify, without speculation.
func loadPlain(o options) (*moe.Model, error) {
	if o.model == "" {
		return embedded.Load(moe.Config{NoSpeculation: true})
	}
	cfg := beams()
	cfg.NoSpeculation = true
	return moe.Load(o.model, cfg)
}
