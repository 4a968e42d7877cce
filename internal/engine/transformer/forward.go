package transformer

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// NumberError reports that a pass computed logits or hidden states that are infinite or NaN: the
// weights are damaged, or the computation overflowed. The other slices of the pass have valid
// logits.
type NumberError struct {
	Slices []int // the affected slices
}

func (e *NumberError) Error() string {
	return fmt.Sprintf("transformer: forward: logits of slices %v are not finite numbers; the model's weights are damaged or hold NaN", e.Slices)
}

// Forward computes the tokens of all slices in one pass over the weights, appends their keys and
// values to the cache, and increases each Seq.Len. Afterwards Logits returns the logits of the
// wanted tokens. A Network runs one pass at a time.
//
// If Forward returns an error other than a *NumberError, no sequence has changed.
func (n *Network) Forward(c *Cache, slices []Slice) error {
	n.pass.bare = false
	return n.forward(c, slices)
}

func (n *Network) forward(c *Cache, slices []Slice) error {
	tokens, outputs, err := n.checkSlices(c, slices)
	if err != nil {
		return err
	}
	if c.layout.Dim != n.hyper.HeadDim || c.layers != n.hyper.Layers || c.kvHeads != n.hyper.KVHeads {
		return fmt.Errorf("transformer: forward: the cache was made for another network")
	}
	p := &n.pass
	p.begin(c, slices, tokens, outputs)
	for i := range n.layers {
		if p.layer(i); p.err != nil {
			return p.err
		}
	}
	p.finish()
	for i := range slices {
		slices[i].Seq.Len += len(slices[i].Tokens)
	}
	return p.damage(slices)
}

// Logits returns the i-th wanted row of the last pass, counted through the slices in order. It has
// one number for each token of the vocabulary. It is valid until the next pass.
func (n *Network) Logits(i int) []float32 {
	v := n.hyper.Vocab
	return n.pass.logits[i*v : (i+1)*v : (i+1)*v]
}

// pass holds the state and scratch memory of a forward pass. Row t of a buffer belongs to token t
// of the pass, counted through the slices. In the last layer, after keys and values are stored, row
// j belongs to the j-th wanted token.
type pass struct {
	n       *Network
	cache   *Cache
	slices  []Slice
	tokens  int // of the pass
	rows    int // tokens still computed: all, or in the last layer only the wanted ones
	outputs int
	l       *layer
	index   int // index of l
	last    bool
	bare    bool // whether hidden states are wanted instead of logits

	token  []int32   // of each row of the pass
	pos    []int32   // position in its sequence
	seq    []int32   // its slice
	want   []int32   // tokens whose logits are wanted, ascending
	from   []int32   // token of each row; nil while every token has a row
	angles []float32 // rotation of each row: Rope.Dims numbers

	x       []float32    // residual stream
	in      tensor.Batch // result of a norm
	q, k, v []float32
	mix     tensor.Batch // result of attention
	proj    []float32    // a product that will be added to the residual stream
	logits  []float32
	bad     []bool // output rows that contain NaN or infinity
	err     error  // error of a worker that computes experts elsewhere

	reserved tensor.TileLayout // layout for which the attention workers have memory

	phase products
	attn  attnScratch
	ff    ffnScratch // of a dense block or a shared expert
	moe   moeScratch
}

func (p *pass) init(n *Network) {
	p.n = n
	p.attn.workers = make([]attnWorker, n.pool.Workers())
	p.moe.init(n.pool.Workers(), n.hyper.Experts)
}

// begin lays out the rows of the pass and embeds the tokens.
func (p *pass) begin(c *Cache, slices []Slice, tokens, outputs int) {
	h := &p.n.hyper
	p.cache, p.slices, p.tokens, p.rows, p.outputs = c, slices, tokens, tokens, outputs
	p.token, p.pos, p.seq = grow(p.token, tokens), grow(p.pos, tokens), grow(p.seq, tokens)
	p.want, p.from, p.err = p.want[:0], nil, nil
	t := 0
	for i := range slices {
		s := &slices[i]
		for j, tok := range s.Tokens {
			p.token[t], p.pos[t], p.seq[t] = tok, int32(s.Seq.Len+j), int32(i)
			if j >= len(s.Tokens)-s.Outputs {
				p.want = append(p.want, int32(t))
			}
			t++
		}
	}
	p.angles = grow(p.angles, tokens*h.Rope.Dims)
	p.x = grow(p.x, tokens*h.Embed)
	p.q = grow(p.q, tokens*h.Heads*h.HeadDim)
	p.k, p.v = grow(p.k, tokens*h.KVWidth()), grow(p.v, tokens*h.KVWidth())
	p.proj = grow(p.proj, tokens*h.Embed)
	if !p.bare {
		p.logits = grow(p.logits, outputs*h.Vocab)
	}
	if p.reserved != c.layout {
		p.attn.reserve(p)
		p.reserved = c.layout
	}
	p.run(tokens, embedJob{p})
}

// run calls job for pieces of at most rowPiece rows; a single piece runs directly in this
// goroutine.
func (p *pass) run(rows int, job tensor.Job) { p.n.pool.Run((rows+rowPiece-1)/rowPiece, job) }

// rowPiece is the number of rows in one piece of the work between two products.
const rowPiece = 8

// piece returns the rows of piece i of n rows.
func piece(i, n int) (lo, hi int) { return i * rowPiece, min(n, (i+1)*rowPiece) }

func (p *pass) xRow(t int) []float32 {
	e := p.n.hyper.Embed
	return p.x[t*e : (t+1)*e]
}

func (p *pass) projRow(t int) []float32 {
	e := p.n.hyper.Embed
	return p.proj[t*e : (t+1)*e]
}

type embedJob struct{ p *pass }

func (j embedJob) Do(_, i int) {
	p := j.p
	dims := p.n.hyper.Rope.Dims
	lo, hi := piece(i, p.tokens)
	for t := lo; t < hi; t++ {
		p.n.embed.Row(int(p.token[t]), p.xRow(t))
		p.n.rope.Angles(p.angles[t*dims:], int(p.pos[t]))
	}
}

// layer computes one layer: x += attention(norm(x)); x += feed-forward(norm(x)).
func (p *pass) layer(i int) {
	h := &p.n.hyper
	p.l, p.index, p.last = &p.n.layers[i], i, i == len(p.n.layers)-1
	p.in.Reset(p.tokens, h.Embed)
	p.run(p.tokens, attnNormJob{p})
	if p.last && p.outputs < p.tokens {
		p.from, p.rows = p.want, p.outputs
	}
	p.attention()
	if p.rows == 0 {
		return
	}
	p.in.Reset(p.rows, h.Embed)
	p.run(p.rows, ffnNormJob{p})
	if len(p.l.expert) > 0 {
		p.route()
		p.experts()
		return
	}
	p.feedForward()
}

type attnNormJob struct{ p *pass }

// Do normalises and rounds some rows for the projections to queries, keys and values.
func (j attnNormJob) Do(_, i int) {
	p, y := j.p, j.p.l
	lo, hi := piece(i, p.tokens)
	for t := lo; t < hi; t++ {
		tensor.RMSNorm(p.in.F32(t), p.xRow(t), y.attnNorm, p.n.hyper.Eps)
	}
	prepare(&p.in, lo, hi, &y.q, &y.k, &y.v)
}

// prepare rounds rows of b for all matrices that read them.
func prepare(b *tensor.Batch, lo, hi int, ms ...*linear) {
	for i, m := range ms {
		done := false
		for _, e := range ms[:i] {
			done = done || e.typ == m.typ
		}
		if !done {
			b.Prepare(m.Matrix, lo, hi)
		}
	}
}

type ffnNormJob struct{ p *pass }

// Do adds the result of attention to the residual stream, then normalises and rounds it for the
// feed-forward block.
func (j ffnNormJob) Do(_, i int) {
	p, y := j.p, j.p.l
	lo, hi := piece(i, p.rows)
	for t := lo; t < hi; t++ {
		x := p.xRow(t)
		tensor.AddTo(x, p.projRow(t))
		tensor.RMSNorm(p.in.F32(t), x, y.ffnNorm, p.n.hyper.Eps)
	}
	p.prepareFFN(lo, hi)
}

// finish normalises the remaining rows and multiplies them by the output matrix.
func (p *pass) finish() {
	if p.rows == 0 || p.outputs == 0 {
		return
	}
	h := &p.n.hyper
	p.in.Reset(p.rows, h.Embed)
	p.run(p.rows, finalNormJob{p})
	if !p.bare {
		p.phase.start(&p.in)
		p.phase.add(&p.n.output, p.logits, h.Vocab, nil)
		p.multiply()
	}
	p.bad = grow(p.bad, p.rows)
	p.run(p.rows, finiteJob{p})
}

type finalNormJob struct{ p *pass }

func (j finalNormJob) Do(_, i int) {
	p := j.p
	lo, hi := piece(i, p.rows)
	for t := lo; t < hi; t++ {
		tensor.RMSNorm(p.in.F32(t), p.xRow(t), p.n.norm, p.n.hyper.Eps)
	}
	if !p.bare {
		prepare(&p.in, lo, hi, &p.n.output)
	}
}

type finiteJob struct{ p *pass }

func (j finiteJob) Do(_, i int) {
	lo, hi := piece(i, j.p.rows)
	for t := lo; t < hi; t++ {
		row := j.p.in.F32(t)
		if !j.p.bare {
			row = j.p.n.Logits(t)
		}
		j.p.bad[t] = !tensor.Finite(row)
	}
}

// damage lists the slices whose logits are NaN or infinite.
func (p *pass) damage(slices []Slice) error {
	var bad []int
	row := 0
	for i := range slices {
		for range slices[i].Outputs {
			if p.bad[row] && (len(bad) == 0 || bad[len(bad)-1] != i) {
				bad = append(bad, i)
			}
			row++
		}
	}
	if bad != nil {
		return &NumberError{Slices: bad}
	}
	return nil
}

// grow returns a slice of n elements, reusing s if it is large enough; the contents are undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
