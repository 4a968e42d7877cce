package transformer

import (
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// NetworkConfig chooses how a network computes; the zero value is the exact one.
type NetworkConfig struct {
	// Capacity limits the tokens of one pass that an expert computes to Capacity times the even
	// share; the rest is rerouted to the token's next best expert with room, and counted. 0 means
	// no limit. With a limit a token's logits depend on the tokens beside it: results are then no
	// longer the same for every batch.
	Capacity float64

	// Place, if set, says which experts are computed elsewhere; their weights are not loaded here.
	// nil means here.
	Place func(layer, expert int) ExpertWorker
}

// Network is the weights of a model and the scratch memory of one forward pass at a time.
type Network struct {
	hyper  Hyper
	arch   *arch
	cfg    NetworkConfig
	pool   *tensor.Pool
	arena  *tensor.Arena
	rope   *tensor.Rope
	embed  linear // one row for each token
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

// layer is the weights of one layer; what an architecture lacks is nil.
type layer struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        linear
	qNorm, kNorm      []float32
	sinks             []float32
	window            int

	dense  *ffn      // of a layer without experts, or the shared expert beside them
	gate   []float32 // of the shared expert
	router linear
	expert []ffn
	remote *remote
}

// ffn is one gated feed-forward block.
type ffn struct{ gate, up, down linear }

// Hyper returns the shape of the network.
func (n *Network) Hyper() Hyper { return n.hyper }

// Bytes returns the memory the weights take.
func (n *Network) Bytes() int { return n.bytes }

// Close gives the memory of the weights back. The network must not be used afterwards.
func (n *Network) Close() error { return n.arena.Close() }
