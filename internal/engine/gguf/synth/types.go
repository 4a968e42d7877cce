package synth

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// quantMix determines the type of each tensor.
type quantMix struct {
	base     gguf.Type
	more     gguf.Type // of the tensors that get more bits, if it is different
	experts  gguf.Type // of the experts' matrices
	output   gguf.Type
	fileType uint32 // the number of the mix in general.file_type
}

// fileTypes maps a type to llama.cpp's number for files that are mostly of that type.
var fileTypes = map[gguf.Type]uint32{
	gguf.TypeF32: 0, gguf.TypeF16: 1, gguf.TypeQ4_0: 2, gguf.TypeQ4_1: 3, gguf.TypeQ8_0: 7, gguf.TypeQ5_0: 8, gguf.TypeQ5_1: 9,
	gguf.TypeQ2_K: 10, gguf.TypeQ3_K: 12, gguf.TypeQ4_K: 14, gguf.TypeQ5_K: 16, gguf.TypeQ6_K: 18, gguf.TypeIQ4_NL: 25,
	gguf.TypeIQ4_XS: 30, gguf.TypeBF16: 32, gguf.TypeMXFP4: 38,
}

// parse reads the name of a type or of a mix.
func (q *quantMix) parse(name string) error {
	switch strings.ToLower(name) {
	case "q4_k_m":
		*q = quantMix{gguf.TypeQ4_K, gguf.TypeQ6_K, gguf.TypeQ4_K, gguf.TypeQ6_K, 15}
		return nil
	case "q5_k_m":
		*q = quantMix{gguf.TypeQ5_K, gguf.TypeQ6_K, gguf.TypeQ5_K, gguf.TypeQ6_K, 17}
		return nil
	case "mxfp4_moe":
		*q = quantMix{gguf.TypeQ8_0, gguf.TypeQ8_0, gguf.TypeMXFP4, gguf.TypeQ8_0, 38}
		return nil
	}
	t, ok := gguf.ParseType(name)
	ft, known := fileTypes[t]
	if !ok || !known {
		return fmt.Errorf("synth: make model: quantisation %q is not known: give a tensor type, q4_k_m, q5_k_m or mxfp4_moe", name)
	}
	*q = quantMix{t, t, t, t, ft}
	switch t {
	case gguf.TypeF32, gguf.TypeF16, gguf.TypeBF16, gguf.TypeQ8_0:
	default: // a quantised file has more bits in its output matrix
		q.output = gguf.TypeQ6_K
	}
	return nil
}

// of returns the type of a matrix. The rules are those of llama.cpp's quantiser.
func (q *quantMix) of(name string, layer, layers, experts int, tied bool) gguf.Type {
	switch {
	case name == "output.weight" || (tied && name == "token_embd.weight"):
		return q.output
	case q.more != q.base && experts == 8 && (strings.Contains(name, "attn_k.") || strings.Contains(name, "attn_v.")):
		return gguf.TypeQ8_0 // small compared with the experts
	case q.base == gguf.TypeQ4_K && q.more != q.base && experts == 8 && strings.Contains(name, "attn_output"):
		return gguf.TypeQ5_K
	case (strings.Contains(name, "attn_v.") || strings.Contains(name, "ffn_down")) && moreBits(layer, layers) && q.more != q.base:
		return q.more
	case strings.Contains(name, "_exps."):
		return q.experts
	}
	return q.base
}

// moreBits reports whether a layer's most sensitive matrices get more bits: the first and the last
// eighth of the layers do, and every third layer between them.
func moreBits(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}

// fallback returns a type close to t for rows that do not divide into t's blocks.
func fallback(t gguf.Type, cols int) gguf.Type {
	for cols%t.BlockSize() != 0 {
		switch t {
		case gguf.TypeQ2_K, gguf.TypeQ3_K, gguf.TypeIQ4_XS:
			t = gguf.TypeIQ4_NL
		case gguf.TypeQ4_K:
			t = gguf.TypeQ5_0
		case gguf.TypeQ5_K:
			t = gguf.TypeQ5_1
		case gguf.TypeQ6_K:
			t = gguf.TypeQ8_0
		default:
			t = gguf.TypeF16
		}
	}
	return t
}
