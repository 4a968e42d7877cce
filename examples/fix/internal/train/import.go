package train

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// importModel reads what Export wrote, so that training can continue from a shipped file. Weights
// from a quantised file stay rounded; the optimiser starts from scratch.
func importModel(f *gguf.File, arch string) (*Model, error) {
	shape, err := importShape(f, arch)
	if err != nil {
		return nil, err
	}
	l := newLayout(shape)
	parts := make([]gguf.Tensor, len(l.params))
	for i := range l.params { // before allocating: a damaged file may claim any size
		if parts[i], err = importPart(f, &l.params[i]); err != nil {
			return nil, err
		}
	}
	m, err := newModel(shape)
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		p := &m.layout.params[i]
		if err := quant.Dequantize(part.Type, m.values(p), part.Data); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", p.name, err)
		}
	}
	if !tensor.Finite(m.weights) {
		return nil, fmt.Errorf("its tensors hold infinities or non-numbers")
	}
	return m, nil
}

func importShape(f *gguf.File, arch string) (Shape, error) {
	var missing []string
	num := func(key string) int {
		n, ok := f.Uint(arch + "." + key)
		if !ok || n > maxParams {
			missing = append(missing, arch+"."+key)
		}
		return int(n)
	}
	s := Shape{
		Vocab: num("vocab_size"), Dim: num("embedding_length"), Layers: num("block_count"), Heads: num("attention.head_count"),
		KVHeads: num("attention.head_count_kv"), HeadDim: num("attention.key_length"), FF: num("feed_forward_length"),
		Context: num("context_length"),
	}
	if arch == (Shape{Experts: 1}).Arch() {
		s.Experts, s.Active, s.FF = num("expert_count"), num("expert_used_count"), num("expert_feed_forward_length")
	}
	base, ok := f.Float(arch + ".rope.freq_base")
	if !ok {
		missing = append(missing, arch+".rope.freq_base")
	}
	s.RopeBase = float32(base)
	if len(missing) > 0 {
		return s, fmt.Errorf("it lacks the numbers %s", strings.Join(missing, ", "))
	}
	return s, s.Validate()
}

// importPart returns the file's tensor with a parameter's name, reduced to the bytes of this
// parameter.
func importPart(f *gguf.File, p *param) (gguf.Tensor, error) {
	t, ok := f.Tensor(p.name)
	if !ok || t.Dims[0] != p.cols {
		return t, fmt.Errorf("it has no tensor %s with rows of %d numbers", p.name, p.cols)
	}
	row, err := t.Type.RowBytes(p.cols)
	if err != nil {
		return t, fmt.Errorf("tensor %s: %w", p.name, err)
	}
	lo, hi := p.expert*p.rows*row, (p.expert+1)*p.rows*row
	if hi > len(t.Data) {
		return t, fmt.Errorf("tensor %s has %d rows; the shape asks for more", p.name, t.Rows())
	}
	t.Data = t.Data[lo:hi]
	return t, nil
}
