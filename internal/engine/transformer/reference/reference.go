package reference

import (
	"fmt"
	"math"
	"sort"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// Network computes a network one token at a time in double precision.
type Network struct {
	f    *gguf.File
	arch string
	t    map[string][]float64
	dims map[string][]int
	keys [][]([]float64) // layer, position: all heads
	vals [][]([]float64)
}

// New reads the weights of f.
func New(t testing.TB, f *gguf.File) *Network {
	t.Helper()
	r := &Network{f: f, t: map[string][]float64{}, dims: map[string][]int{}}
	r.arch, _ = f.String("general.architecture")
	for _, x := range f.Tensors() {
		n := x.Dims[0] * x.Rows()
		v := make([]float32, n)
		if err := quant.Dequantize(x.Type, v, x.Data); err != nil {
			t.Fatal(err)
		}
		d := make([]float64, n)
		for i := range v {
			d[i] = float64(v[i])
		}
		r.t[x.Name], r.dims[x.Name] = d, x.Dims
	}
	layers := r.num("block_count", 0)
	r.keys, r.vals = make([][][]float64, int(layers)), make([][][]float64, int(layers))
	return r
}

func (r *Network) num(key string, def float64) float64 {
	if v, ok := r.f.Float(r.arch + "." + key); ok {
		return v
	}
	if v, ok := r.f.Uint(r.arch + "." + key); ok {
		return float64(v)
	}
	return def
}

// mul multiplies part e of the tensor by x, and adds the bias if there is one.
func (r *Network) mul(name string, e int, x []float64) []float64 {
	w, d := r.t[name+".weight"], r.dims[name+".weight"]
	rows := d[1]
	y := make([]float64, rows)
	b := r.t[name+".bias"]
	for i := range y {
		y[i] = dot(w[(e*rows+i)*d[0]:], x)
		if b != nil {
			y[i] += b[e*rows+i]
		}
	}
	return y
}

// dot returns the dot product of x and as many elements of row. It adds to four sums alternately,
// because with a single sum, each addition would have to wait for the one before.
func dot(row, x []float64) float64 {
	var a, b, c, d float64
	row = row[:len(x)]
	for ; len(x) >= 4; row, x = row[4:], x[4:] {
		a += row[0] * x[0]
		b += row[1] * x[1]
		c += row[2] * x[2]
		d += row[3] * x[3]
	}
	for i, v := range x {
		a += row[i] * v
	}
	return a + b + (c + d)
}

func (r *Network) norm(x []float64, name string) []float64 {
	w, ss := r.t[name+".weight"], 0.0
	for _, v := range x {
		ss += v * v
	}
	s := 1 / math.Sqrt(ss/float64(len(x))+r.num("attention.layer_norm_rms_epsilon", 0))
	y := make([]float64, len(x))
	for i := range x {
		y[i] = x[i] * s * w[i]
	}
	return y
}

// rotate rotates the heads of x for position pos.
func (r *Network) rotate(x []float64, dim, pos int) {
	base, factors := r.num("rope.freq_base", 10000), r.t["rope_freqs.weight"]
	kind, _ := r.f.String(r.arch + ".rope.scaling.type")
	factor := r.num("rope.scaling.factor", 1)
	mag := 1.0
	var low, high float64
	if kind == "yarn" {
		mag = 1 + 0.1*math.Log(factor)
		turn := func(n float64) float64 {
			return float64(dim) * math.Log(r.num("rope.scaling.original_context_length", 0)/(n*2*math.Pi)) / (2 * math.Log(base))
		}
		low, high = math.Max(0, math.Floor(turn(32))), math.Min(float64(dim-1), math.Ceil(turn(1)))
	}
	for h := 0; h < len(x); h += dim {
		for i := range dim / 2 {
			f := math.Pow(base, -float64(2*i)/float64(dim))
			if factors != nil {
				f /= factors[i]
			}
			switch kind {
			case "yarn":
				ramp := math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
				f = f*(1-ramp) + f/factor*ramp
			default:
				f /= factor
			}
			a, b := h+i, h+i+dim/2
			if r.arch == "llama" {
				a, b = h+2*i, h+2*i+1
			}
			s, c := math.Sincos(f * float64(pos))
			x[a], x[b] = (x[a]*c-x[b]*s)*mag, (x[a]*s+x[b]*c)*mag
		}
	}
}

func (r *Network) headNorm(x []float64, dim int, name string) []float64 {
	if r.t[name+".weight"] == nil {
		return x
	}
	if r.arch == "olmoe" {
		return r.norm(x, name)
	}
	var y []float64
	for h := 0; h < len(x); h += dim {
		y = append(y, r.norm(x[h:h+dim], name)...)
	}
	return y
}

func (r *Network) attention(l int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	heads, kv := int(r.num("attention.head_count", 0)), int(r.num("attention.head_count_kv", 0))
	q := r.mul(p+"attn_q", 0, x)
	dim := len(q) / heads
	k, v := r.mul(p+"attn_k", 0, x), r.mul(p+"attn_v", 0, x)
	q, k = r.headNorm(q, dim, p+"attn_q_norm"), r.headNorm(k, dim, p+"attn_k_norm")
	pos := len(r.keys[l])
	r.rotate(q, dim, pos)
	r.rotate(k, dim, pos)
	r.keys[l], r.vals[l] = append(r.keys[l], k), append(r.vals[l], v)
	first := 0
	if window := int(r.num("attention.sliding_window", 0)); window > 0 && l%2 == 0 {
		first = max(0, pos-window+1)
	}
	out := make([]float64, len(q))
	for h := range heads {
		g := h / (heads / kv) * dim
		var score []float64
		for t := first; t <= pos; t++ {
			score = append(score, dot(r.keys[l][t][g:], q[h*dim:(h+1)*dim])/math.Sqrt(float64(dim)))
		}
		if sinks := r.t[p+"attn_sinks.weight"]; sinks != nil {
			score = append(score, sinks[h])
		}
		w := softmax64(score)
		for t := first; t <= pos; t++ {
			weight, to := w[t-first], out[h*dim:(h+1)*dim]
			for i, v := range r.vals[l][t][g : g+dim] {
				to[i] += weight * v
			}
		}
	}
	return r.mul(p+"attn_output", 0, out)
}

func softmax64(x []float64) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = math.Max(top, v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

// block is one gated feed-forward block.
func (r *Network) block(p, suffix string, e int, x []float64) []float64 {
	gate, up := r.mul(p+"ffn_gate"+suffix, e, x), r.mul(p+"ffn_up"+suffix, e, x)
	for i, g := range gate {
		if r.arch == "gpt-oss" {
			g = math.Min(g, 7)
			u := math.Max(-7, math.Min(7, up[i]))
			gate[i] = g / (1 + math.Exp(-1.702*g)) * (u + 1)
			continue
		}
		gate[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return r.mul(p+"ffn_down"+suffix, e, gate)
}

func (r *Network) feedForward(l int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if r.t[p+"ffn_gate_inp.weight"] == nil {
		return r.block(p, "", 0, x)
	}
	logits := r.mul(p+"ffn_gate_inp", 0, x)
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return logits[order[a]] > logits[order[b]] })
	order = order[:int(r.num("expert_used_count", 0))]
	probs, sum := softmax64(logits), 0.0
	for _, e := range order {
		sum += probs[e]
	}
	out := make([]float64, len(x))
	for _, e := range order {
		w := probs[e]
		if r.arch != "qwen2moe" && r.arch != "olmoe" { // softmax over the chosen experts equals scaling their shares to sum to 1
			w /= sum
		}
		for i, v := range r.block(p, "_exps", e, x) {
			out[i] += w * v
		}
	}
	if g := r.t[p+"ffn_gate_inp_shexp.weight"]; g != nil {
		gate := dot(g, x)
		for i, v := range r.block(p, "_shexp", 0, x) {
			out[i] += v / (1 + math.Exp(-gate))
		}
	}
	return out
}

// Next returns the logits after one more token.
func (r *Network) Next(token int32) []float64 {
	x := r.Hidden(token)
	if r.t["output.weight"] == nil {
		return r.mul("token_embd", 0, x)
	}
	return r.mul("output", 0, x)
}

// Hidden returns the hidden state after one more token, after the last norm. Its product with the
// output matrix is the logits.
func (r *Network) Hidden(token int32) []float64 {
	embd := int(r.num("embedding_length", 0))
	x := append([]float64(nil), r.t["token_embd.weight"][int(token)*embd:(int(token)+1)*embd]...)
	for l := range r.keys {
		p := fmt.Sprintf("blk.%d.", l)
		for i, v := range r.attention(l, r.norm(x, p+"attn_norm")) {
			x[i] += v
		}
		name := p + "ffn_norm"
		if r.arch == "gpt-oss" {
			name = p + "post_attention_norm"
		}
		for i, v := range r.feedForward(l, r.norm(x, name)) {
			x[i] += v
		}
	}
	return r.norm(x, "output_norm")
}
