package train

import (
	"fmt"
	"io"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// ExportConfig holds the contents of a GGUF file other than the weights.
type ExportConfig struct {
	Type     gguf.Type // of the matrices: TypeF32, TypeF16, TypeBF16, TypeQ8_0; norms and routers stay F32
	Name     string    // general.name
	License  string    // general.license, an SPDX name; "" leaves it out
	Author   string    // general.author; "" leaves it out
	About    string    // general.description; "" leaves it out
	Template string    // chat template; "" leaves it out

	// Vocab writes the tokenizer's keys; nil writes none.
	Vocab func(w *gguf.Writer) error
}

// fileTypes are llama.cpp's numbers for the type of most of a file's tensors.
var fileTypes = map[gguf.Type]uint32{gguf.TypeF32: 0, gguf.TypeF16: 1, gguf.TypeQ8_0: 7, gguf.TypeBF16: 32}

// Export adds everything an engine needs to run the model to w: metadata, vocabulary and tensors.
// The model must not change until w is written.
func (m *Model) Export(w *gguf.Writer, cfg ExportConfig) error {
	file, ok := fileTypes[cfg.Type]
	if !ok {
		return fmt.Errorf("train: export: type %v is not offered; F32, F16, BF16 and Q8_0 are", cfg.Type)
	}
	for _, kv := range [][2]string{
		{"general.architecture", m.shape.Arch()}, {"general.type", "model"}, {"general.name", cfg.Name},
		{"general.author", cfg.Author}, {"general.license", cfg.License}, {"general.description", cfg.About},
	} {
		if kv[1] != "" {
			w.SetString(kv[0], kv[1])
		}
	}
	w.SetUint32("general.quantization_version", 2)
	w.SetUint32("general.file_type", file)
	m.exportShape(w)
	if cfg.Vocab != nil {
		if err := cfg.Vocab(w); err != nil {
			return fmt.Errorf("train: export: %w", err)
		}
	}
	if cfg.Template != "" {
		w.SetString("tokenizer.chat_template", cfg.Template)
	}
	m.exportTensors(w, cfg.Type)
	return nil
}

func (m *Model) exportShape(w *gguf.Writer) {
	s := m.shape
	num := func(key string, n int) { w.SetUint32(s.Arch()+"."+key, uint32(n)) }
	num("context_length", s.Context)
	num("embedding_length", s.Dim)
	num("block_count", s.Layers)
	num("feed_forward_length", s.FF)
	num("attention.head_count", s.Heads)
	num("attention.head_count_kv", s.KVHeads)
	num("attention.key_length", s.HeadDim)
	num("attention.value_length", s.HeadDim)
	num("rope.dimension_count", s.HeadDim)
	num("vocab_size", s.Vocab)
	w.SetFloat32(s.Arch()+".attention.layer_norm_rms_epsilon", eps)
	w.SetFloat32(s.Arch()+".rope.freq_base", float32(s.base()))
	if s.Experts > 0 {
		num("expert_count", s.Experts)
		num("expert_used_count", s.Active)
		num("expert_feed_forward_length", s.FF)
	}
}

// exportTensors writes one tensor for each name; the parts for the experts are stacked. The
// embedding also serves as output: dense models store it once and the engine uses it for both,
// while models with experts store it twice, since not every reader shares it.
func (m *Model) exportTensors(w *gguf.Writer, typ gguf.Type) {
	parts := map[string][]*param{}
	var names []string
	for i := range m.layout.params {
		p := &m.layout.params[i]
		if parts[p.name] == nil {
			names = append(names, p.name)
		}
		parts[p.name] = append(parts[p.name], p)
	}
	for _, name := range names {
		m.exportTensor(w, name, typ, parts[name])
	}
	if m.shape.Experts > 0 {
		m.exportTensor(w, "output.weight", typ, parts["token_embd.weight"])
	}
}

func (m *Model) exportTensor(w *gguf.Writer, name string, typ gguf.Type, parts []*param) {
	p := parts[0]
	dims := []int{p.cols}
	if p.role != roleNorm {
		dims = append(dims, p.rows)
	}
	if strings.Contains(name, "_exps") {
		dims = append(dims, len(parts))
	}
	switch {
	case p.role == roleNorm || p.role == roleRouter:
		typ = gguf.TypeF32
	case p.cols%typ.BlockSize() != 0:
		typ = gguf.TypeF16 // a row that cannot be divided into whole blocks
	}
	w.AddTensorFunc(name, typ, dims, func(out io.Writer) error {
		for _, p := range parts {
			if err := writeAs(out, typ, m.values(p), p.cols); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeAs writes rows of cols numbers in a type.
func writeAs(out io.Writer, typ gguf.Type, x []float32, cols int) error {
	if typ == gguf.TypeF32 {
		return writeFloats(out, x)
	}
	size, err := typ.RowBytes(cols)
	if err != nil {
		return err
	}
	buf := make([]byte, size)
	for ; len(x) > 0; x = x[cols:] {
		if err := quant.Quantize(typ, buf, x[:cols]); err != nil {
			return err
		}
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
