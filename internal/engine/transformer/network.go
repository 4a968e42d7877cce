package transformer

import (
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// NetworkConfig has the options of a network's computation. With the zero value, the computation is
// exact.
type NetworkConfig struct {
	// Capacity limits the tokens of one pass that an expert computes to Capacity times the even
	// share. The other tokens are rerouted to their next best expert with room, and counted. 0
	// means no limit. With a limit, a token's logits depend on the other tokens in the pass, so
	// results are no longer the same for every batch.
	Capacity float64

	// Place, if not nil, returns the worker that computes an expert elsewhere; the weights of such
	// experts are not loaded here. A nil worker means that the expert is computed here.
	Place func(layer, expert int) ExpertWorker
}

// Network holds the weights of a model and the scratch memory for one forward pass at a time.
type Network struct {
	hyper  Hyper
	arch   *arch
	cfg    NetworkConfig
	pool   *tensor.Pool
	arena  *tensor.Arena
	rope   *tensor.Rope
	embed  linear // one row per token
	norm   []float32
	output linear
	layers []layer
	bytes  int
	load   expertLoad
	pass   pass
}

// linear is a matrix with an optional bias.
type linear struct {
	*tensor.Matrix
	bias []float32
	typ  gguf.Type
}

// layer holds the weights of one layer. Fields that an architecture does not use are nil.
type layer struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        linear
	qNorm, kNorm      []float32
	sinks             []float32
	window            int

	dense  *ffn      // block of a layer without experts, or the shared expert
	gate   []float32 // of the shared expert
	router linear
	expert []ffn
	remote *remote
}

// ffn is one gated feed-forward block.
type ffn struct{ gate, up, down linear }

// Hyper returns the shape of the network.
func (n *Network) Hyper() Hyper { return n.hyper }

// Bytes returns the size of the weights in bytes.
func (n *Network) Bytes() int { return n.bytes }

// Close frees the memory of the weights. The network must not be used afterwards.
func (n *Network) Close() error { return n.arena.Close() }
