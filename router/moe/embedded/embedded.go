// Package embedded is a small Mixture-of-Experts model that repairs Go code one line at a time. Its
// weights are part of the program that imports the package: it needs no download, no key and no
// network.
//
//	model, err := embedded.Load(moe.Config{})
//
// It is not an assistant. It was trained from scratch on one task, to find and repair a broken line
// of a Go function whose tests fail, and knows three tools by name: run_tests, read_function and
// edit_line. Its answers to anything else are meaningless. [Info] describes its training data and
// its limits; examples/fix is a program that uses it.
//
// The weights add about seven megabytes to a program, and only to a program that imports this
// package. They are ordinary GGUF files, which other programs can load too.
package embedded

import (
	_ "embed" // the weights

	"github.com/luthier-dev/luthier/router/moe"
)

// Name is the model's name in errors, logs and prices.
const Name = "luthier-fix"

//go:embed luthier-fix.gguf
var weights []byte

//go:embed luthier-fix-draft.gguf
var draft []byte

// Model returns the model as the bytes of its GGUF file, which must not be changed.
func Model() []byte { return weights }

// Draft returns the smaller model that makes drafts for [Model], as the bytes of its GGUF file,
// which must not be changed.
func Draft() []byte { return draft }

// conversations is the number of full contexts that fit into the key-value cache by default. There
// are several because a beam keeps the ends of its paths in the cache. It takes 24 MiB.
const conversations = 16

// Load starts the model. For fields that cfg does not set, the name is [Name], the drafts come from
// [Draft], calls must follow the layout that the model was trained on, and the cache is large
// enough for wide beams.
func Load(cfg moe.Config) (*moe.Model, error) {
	if cfg.Name == "" {
		cfg.Name = Name
	}
	if cfg.Draft == "" && cfg.DraftData == nil {
		cfg.DraftData = draft
	}
	if cfg.Constrain == "" {
		cfg.Constrain = moe.ConstrainExact
	}
	if cfg.KVTokens == 0 {
		context := cfg.Context
		if context == 0 {
			context = trained
		}
		cfg.KVTokens = conversations * context
	}
	return moe.LoadBytes(Name, weights, cfg)
}

// trained is the context length that the model was trained for.
const trained = 1024
