package transformer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// LoadNetwork reads the weights of f and lays them out for the kernels of this machine. It uses the
// workers of pool, which the network also uses for its passes. The pages of f are released one
// matrix after another, and f may be closed afterwards. An error contains the name of the key or
// tensor that caused it.
func LoadNetwork(f *gguf.File, pool *tensor.Pool, cfg NetworkConfig) (*Network, error) {
	h, a, err := readHyper(f)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(cfg.Capacity) || cfg.Capacity < 0 || cfg.Capacity > 0 && cfg.Capacity < 1 {
		return nil, fmt.Errorf("transformer: load network: expert capacity %v; it must be 0 (no limit) or at least 1", cfg.Capacity)
	}
	n := &Network{hyper: h, arch: a, cfg: cfg, pool: pool, arena: tensor.NewArena(0)}
	l := loader{f: f, n: n}
	l.network()
	if err := l.finish(); err != nil {
		return nil, err
	}
	return n, nil
}

// finish builds the matrices, if there was no error and there is enough memory, and prepares the
// network for use.
func (l *loader) finish() error {
	n := l.n
	if l.err == nil {
		l.checkRoom()
	}
	if l.err == nil {
		l.build()
	}
	if l.err != nil {
		return errors.Join(fmt.Errorf("transformer: load network: %w", l.err), n.arena.Close())
	}
	n.load.init(n.hyper.Layers, n.hyper.Experts)
	n.pass.init(n)
	return nil
}

// loader first finds and checks every tensor, then builds the matrices in parallel.
type loader struct {
	f       *gguf.File
	n       *Network
	pending []pending
	pieces  []loadRows

	mu  sync.Mutex // guards err while the workers run
	err error
}

// pending is a matrix still to be built: rows [row, row+rows) of a tensor.
type pending struct {
	dst  *linear
	t    gguf.Tensor
	rows int
	data []byte // of these rows
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// tensor finds a tensor of the given shape; optional ones may be absent.
func (l *loader) tensor(name string, optional bool, dims ...int) (gguf.Tensor, bool) {
	t, ok := l.f.Tensor(name)
	if !ok {
		if !optional {
			l.fail("tensor %s is missing", name)
		}
		return t, false
	}
	// A trailing dimension of 1 may be omitted.
	got := slices.Clone(t.Dims)
	for len(got) > len(dims) && got[len(got)-1] == 1 {
		got = got[:len(got)-1]
	}
	if !slices.Equal(got, dims) {
		l.fail("tensor %s has shape %v, want %v", name, t.Dims, dims)
		return t, false
	}
	return t, true
}

// vector reads a tensor of n numbers, usually a norm or a bias.
func (l *loader) vector(name string, optional bool, n int) []float32 {
	return l.values(name, optional, n)
}

// values reads a whole small tensor as float32.
func (l *loader) values(name string, optional bool, dims ...int) []float32 {
	t, ok := l.tensor(name, optional, dims...)
	if !ok {
		return nil
	}
	total := 1
	for _, d := range dims {
		total *= d
	}
	v := make([]float32, total)
	if err := quant.Dequantize(t.Type, v, t.Data); err != nil {
		l.fail("tensor %s: %w", name, err)
	}
	l.n.bytes += 4 * total
	return v
}

// matrix plans rows×cols weights named name.weight, with the bias name.bias if there is one.
func (l *loader) matrix(dst *linear, name string, optional bool, cols, rows int) bool {
	t, ok := l.tensor(name+".weight", optional, cols, rows)
	if !ok {
		return false
	}
	l.plan(dst, t, rows, t.Data)
	dst.bias = l.vector(name+".bias", true, rows)
	return true
}

func (l *loader) plan(dst *linear, t gguf.Tensor, rows int, data []byte) {
	dst.typ = t.Type
	l.pending = append(l.pending, pending{dst: dst, t: t, rows: rows, data: data})
	l.n.bytes += len(data)
}

// experts plans one matrix for each expert of a three-dimensional tensor.
func (l *loader) experts(y *layer, pick func(*ffn) *linear, name string, cols, rows int) {
	list := y.expert
	t, ok := l.tensor(name+".weight", false, cols, rows, len(list))
	if !ok {
		return
	}
	size := len(t.Data) / len(list)
	bias := l.values(name+".bias", !l.n.arch.moe.biases, rows, len(list))
	for i := range list {
		if y.away(i) {
			continue
		}
		m := pick(&list[i])
		l.plan(m, t, rows, t.Data[i*size:(i+1)*size])
		if bias != nil {
			m.bias = bias[i*rows : (i+1)*rows]
		}
	}
}

func (l *loader) network() {
	n, h := l.n, &l.n.hyper
	l.matrix(&n.embed, "token_embd", false, h.Embed, h.Vocab)
	n.norm = l.vector("output_norm.weight", false, h.Embed)
	l.matrix(&n.output, "output", n.arch.tied, h.Embed, h.Vocab)
	l.rope()
	n.layers = make([]layer, h.Layers)
	for i := range n.layers {
		if l.err == nil {
			l.layer(&n.layers[i], i)
		}
	}
}

func (l *loader) layer(y *layer, i int) {
	h, a := &l.n.hyper, l.n.arch
	name := func(s string) string { return fmt.Sprintf("blk.%d.%s", i, s) }
	y.window = h.windowOf(i)
	y.attnNorm = l.vector(name("attn_norm.weight"), false, h.Embed)
	l.qkv(y, name)
	l.matrix(&y.o, name("attn_output"), false, h.Heads*h.HeadDim, h.Embed)
	switch a.qkNorm {
	case normHead:
		y.qNorm = l.vector(name("attn_q_norm.weight"), false, h.HeadDim)
		y.kNorm = l.vector(name("attn_k_norm.weight"), false, h.HeadDim)
	case normRow:
		y.qNorm = l.vector(name("attn_q_norm.weight"), false, h.Heads*h.HeadDim)
		y.kNorm = l.vector(name("attn_k_norm.weight"), false, h.KVWidth())
	}
	if a.sinks {
		y.sinks = l.vector(name("attn_sinks.weight"), false, h.Heads)
	}
	y.ffnNorm = l.vector(name(a.ffnNorm+".weight"), false, h.Embed)
	if h.Experts == 0 {
		y.dense = l.dense(name, "", h.FF)
		return
	}
	l.matrix(&y.router, name("ffn_gate_inp"), false, h.Embed, h.Experts)
	l.expertLayer(y, i)
	if a.moe.shared {
		y.gate = l.vector(name("ffn_gate_inp_shexp.weight"), false, h.Embed)
		y.dense = l.dense(name, "_shexp", h.SharedFF)
	}
}

// expertLayer plans the experts of layer i that are computed in this process.
func (l *loader) expertLayer(y *layer, i int) {
	h := &l.n.hyper
	name := func(s string) string { return fmt.Sprintf("blk.%d.%s", i, s) }
	y.expert, y.remote = make([]ffn, h.Experts), l.n.cfg.placed(i, h.Experts)
	l.experts(y, func(f *ffn) *linear { return &f.gate }, name("ffn_gate_exps"), h.Embed, h.ExpertFF)
	l.experts(y, func(f *ffn) *linear { return &f.up }, name("ffn_up_exps"), h.Embed, h.ExpertFF)
	l.experts(y, func(f *ffn) *linear { return &f.down }, name("ffn_down_exps"), h.ExpertFF, h.Embed)
}

// qkv plans the projections to queries, keys and values, which some converters combine in a single
// tensor.
func (l *loader) qkv(y *layer, name func(string) string) {
	h := &l.n.hyper
	q, kv := h.Heads*h.HeadDim, h.KVWidth()
	t, ok := l.f.Tensor(name("attn_qkv.weight"))
	if !ok {
		l.matrix(&y.q, name("attn_q"), false, h.Embed, q)
		l.matrix(&y.k, name("attn_k"), false, h.Embed, kv)
		l.matrix(&y.v, name("attn_v"), false, h.Embed, kv)
		return
	}
	if t, ok = l.tensor(name("attn_qkv.weight"), false, h.Embed, q+2*kv); !ok {
		return
	}
	bias := l.vector(name("attn_qkv.bias"), true, q+2*kv)
	row, at := len(t.Data)/(q+2*kv), 0
	for _, part := range []struct {
		dst  *linear
		rows int
	}{{&y.q, q}, {&y.k, kv}, {&y.v, kv}} {
		l.plan(part.dst, t, part.rows, t.Data[at*row:(at+part.rows)*row])
		if bias != nil {
			part.dst.bias = bias[at : at+part.rows]
		}
		at += part.rows
	}
}

func (l *loader) dense(name func(string) string, suffix string, width int) *ffn {
	h, f := &l.n.hyper, &ffn{}
	l.matrix(&f.gate, name("ffn_gate"+suffix), false, h.Embed, width)
	l.matrix(&f.up, name("ffn_up"+suffix), false, h.Embed, width)
	l.matrix(&f.down, name("ffn_down"+suffix), false, width, h.Embed)
	return f
}

// rope combines the header's parameters with the frequency factors of Llama 3.1.
func (l *loader) rope() {
	p := l.n.hyper.Rope
	cfg := tensor.RopeConfig{
		Dims: p.Dims, Pairs: l.n.arch.rope == ropePairs, Base: p.Base, Scale: 1 / p.Factor,
		OrigCtx: p.OrigCtx, Magnitude: p.AttnFactor,
	}
	if p.Scaling == "yarn" {
		cfg.Ext, cfg.BetaFast, cfg.BetaSlow = p.ExtFactor, p.BetaFast, p.BetaSlow
		if p.Factor > 1 && p.ExtFactor != 0 {
			cfg.Magnitude *= float32(0.1*math.Log(float64(p.Factor)) + 1)
		}
	}
	cfg.Factors = l.vector("rope_freqs.weight", true, p.Dims/2)
	r, err := tensor.NewRope(cfg)
	if err != nil {
		l.fail("%w", err)
	}
	l.n.rope = r
}

// loadPiece is the approximate number of bytes of the file that a worker reads and lays out at a
// time. Between the two steps they stay in its CPU cache.
const loadPiece = 1 << 20

// build builds the planned matrices and fills them in parallel, in the order of the file so that
// read-ahead works.
func (l *loader) build() {
	slices.SortStableFunc(l.pending, func(a, b pending) int {
		return cmp.Compare(address(a.data), address(b.data))
	})
	for i := range l.pending {
		p := &l.pending[i]
		m, err := tensor.NewMatrixRows(p.t.Type, p.rows, p.t.Dims[0], l.n.arena.Alloc)
		if err != nil {
			l.fail("tensor %s: %w", p.t.Name, err)
			return
		}
		p.dst.Matrix = m
		step := max(loadPiece/(len(p.data)/p.rows), 1)
		step = (step + m.Granule() - 1) / m.Granule() * m.Granule()
		for r := 0; r < p.rows; r += step {
			l.pieces = append(l.pieces, loadRows{p, r, min(r+step, p.rows)})
		}
	}
	l.n.pool.Run(len(l.pieces), loadJob{l, make([][]byte, l.n.pool.Workers())})
	if l.n.output.Matrix == nil { // tied embeddings
		l.n.output.Matrix, l.n.output.typ = l.n.embed.Matrix, l.n.embed.typ
	}
}

// loadRows describes rows [r0, r1) of a planned matrix.
type loadRows struct {
	*pending
	r0, r1 int
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

type loadJob struct {
	l    *loader
	bufs [][]byte // one per worker
}

// Do reads some rows of a matrix and lays them out.
func (j loadJob) Do(worker, i int) {
	p := j.l.pieces[i]
	row := len(p.data) / p.rows
	part := p.data[p.r0*row : p.r1*row]
	if len(j.bufs[worker]) < len(part) {
		j.bufs[worker] = make([]byte, len(part))
	}
	buf := j.bufs[worker][:len(part)]
	err := j.l.f.Read(buf, part)
	if err == nil {
		err = p.dst.SetRows(p.r0, buf)
	}
	if err != nil {
		j.l.mu.Lock()
		j.l.fail("tensor %s: %w", p.t.Name, err)
		j.l.mu.Unlock()
	}
}
