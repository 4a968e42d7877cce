package train

import "fmt"

// A role determines how a parameter is initialised and which optimiser updates it.
type role uint8

const (
	roleMatrix role = iota // Muon
	roleOutput             // Muon; it writes to the residual stream and starts at zero
	roleEmbed              // AdamW
	roleRouter             // AdamW
	roleNorm               // AdamW without decay; starts at one
)

// A param is one matrix (rows × cols, row-major) or vector (rows 1) in the flat array of weights.
type param struct {
	name       string // the tensor's name in a GGUF file
	expert     int    // part of that tensor; 0 if it has only one
	rows, cols int
	at         int // start in the flat array
	role       role
}

func (p *param) size() int { return p.rows * p.cols }

// layout holds the positions of all weights. Matrices with the same input are adjacent, so that one
// product computes them all.
type layout struct {
	params []param
	size   int

	embed, norm int
	layers      []layerAt
}

// layerAt holds the positions of one layer's weights.
type layerAt struct {
	attnNorm, qkv, qNorm, kNorm, out int
	ffnNorm, router                  int
	experts                          []expertAt
}

// expertAt holds the positions of gate and up, which are one matrix of 2·FF rows, and of down.
type expertAt struct{ gateUp, down int }

func (l *layout) add(r role, name string, expert, rows, cols int) int {
	at := l.size
	l.params = append(l.params, param{name: name, expert: expert, rows: rows, cols: cols, at: at, role: r})
	l.size += rows * cols
	return at
}

func newLayout(s Shape) layout {
	var l layout
	l.embed = l.add(roleEmbed, "token_embd.weight", 0, s.Vocab, s.Dim)
	for i := range s.Layers {
		l.layers = append(l.layers, l.layer(s, i))
	}
	l.norm = l.add(roleNorm, "output_norm.weight", 0, 1, s.Dim)
	return l
}

func (l *layout) layer(s Shape, i int) layerAt {
	name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", i, part) }
	var y layerAt
	y.attnNorm = l.add(roleNorm, name("attn_norm"), 0, 1, s.Dim)
	y.qkv = l.add(roleMatrix, name("attn_q"), 0, s.qWidth(), s.Dim)
	l.add(roleMatrix, name("attn_k"), 0, s.kvWidth(), s.Dim)
	l.add(roleMatrix, name("attn_v"), 0, s.kvWidth(), s.Dim)
	y.qNorm = l.add(roleNorm, name("attn_q_norm"), 0, 1, s.HeadDim)
	y.kNorm = l.add(roleNorm, name("attn_k_norm"), 0, 1, s.HeadDim)
	y.out = l.add(roleOutput, name("attn_output"), 0, s.Dim, s.qWidth())
	y.ffnNorm = l.add(roleNorm, name("ffn_norm"), 0, 1, s.Dim)
	suffix := ""
	if s.Experts > 0 {
		suffix = "_exps"
		y.router = l.add(roleRouter, name("ffn_gate_inp"), 0, s.Experts, s.Dim)
	}
	for e := range s.experts() {
		var x expertAt
		x.gateUp = l.add(roleMatrix, name("ffn_gate"+suffix), e, s.FF, s.Dim)
		l.add(roleMatrix, name("ffn_up"+suffix), e, s.FF, s.Dim)
		x.down = l.add(roleOutput, name("ffn_down"+suffix), e, s.Dim, s.FF)
		y.experts = append(y.experts, x)
	}
	return y
}
