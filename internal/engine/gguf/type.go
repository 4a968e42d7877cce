package gguf

import (
	"fmt"
	"math"
	"strings"
)

// Type is the encoding of a tensor's values, numbered as in ggml.
type Type uint32

// The tensor types that can be read. A quantised type keeps rows in blocks of BlockSize values.
const (
	TypeF32    Type = 0
	TypeF16    Type = 1
	TypeQ4_0   Type = 2
	TypeQ4_1   Type = 3
	TypeQ5_0   Type = 6
	TypeQ5_1   Type = 7
	TypeQ8_0   Type = 8
	TypeQ2_K   Type = 10
	TypeQ3_K   Type = 11
	TypeQ4_K   Type = 12
	TypeQ5_K   Type = 13
	TypeQ6_K   Type = 14
	TypeIQ4_NL Type = 20
	TypeIQ4_XS Type = 23
	TypeI8     Type = 24
	TypeI16    Type = 25
	TypeI32    Type = 26
	TypeI64    Type = 27
	TypeF64    Type = 28
	TypeBF16   Type = 30
	TypeMXFP4  Type = 39
)

// layout describes one block of a type; the fields block and bytes are 0 for a type of which only
// the name is known.
type layout struct {
	name         string
	block, bytes int
}

// layouts is indexed by Type. The types without sizes are listed so that an error can name them.
var layouts = [...]layout{
	0:  {"F32", 1, 4},
	1:  {"F16", 1, 2},
	2:  {"Q4_0", 32, 18},
	3:  {"Q4_1", 32, 20},
	6:  {"Q5_0", 32, 22},
	7:  {"Q5_1", 32, 24},
	8:  {"Q8_0", 32, 34},
	9:  {name: "Q8_1"},
	10: {"Q2_K", 256, 84},
	11: {"Q3_K", 256, 110},
	12: {"Q4_K", 256, 144},
	13: {"Q5_K", 256, 176},
	14: {"Q6_K", 256, 210},
	15: {name: "Q8_K"},
	16: {name: "IQ2_XXS"},
	17: {name: "IQ2_XS"},
	18: {name: "IQ3_XXS"},
	19: {name: "IQ1_S"},
	20: {"IQ4_NL", 32, 18},
	21: {name: "IQ3_S"},
	22: {name: "IQ2_S"},
	23: {"IQ4_XS", 256, 136},
	24: {"I8", 1, 1},
	25: {"I16", 1, 2},
	26: {"I32", 1, 4},
	27: {"I64", 1, 8},
	28: {"F64", 1, 8},
	29: {name: "IQ1_M"},
	30: {"BF16", 1, 2},
	34: {name: "TQ1_0"},
	35: {name: "TQ2_0"},
	39: {"MXFP4", 32, 17},
	40: {name: "NVFP4"},
}

func (t Type) layout() layout {
	if int64(t) < int64(len(layouts)) {
		return layouts[t]
	}
	return layout{}
}

// String returns the type's name as ggml's tools print it, such as "Q4_K".
func (t Type) String() string {
	if n := t.layout().name; n != "" {
		return n
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// ParseType finds a type by its name, in any case: "q4_k" is TypeQ4_K. Types that cannot be read
// are not found.
func ParseType(name string) (Type, bool) {
	for i, l := range layouts {
		if l.block > 0 && strings.EqualFold(l.name, name) {
			return Type(i), true
		}
	}
	return 0, false
}

// BlockSize returns the number of values in a block: 1 for plain types, 0 if the type is not
// supported.
func (t Type) BlockSize() int { return t.layout().block }

// BlockBytes returns the number of bytes of a block, or 0 if the type is not supported.
func (t Type) BlockBytes() int { return t.layout().bytes }

// RowBytes returns the number of bytes of a row of cols values. It returns an error if the type is
// not supported, if cols is not a multiple of the block or if the result does not fit an int.
func (t Type) RowBytes(cols int) (int, error) {
	l := t.layout()
	switch {
	case l.block == 0:
		return 0, fmt.Errorf("gguf: size row: tensor type %v is not supported (supported: %s)", t, supportedTypes())
	case cols < 0 || cols%l.block != 0:
		return 0, fmt.Errorf("gguf: size row: %d columns are not a multiple of the %d values in a block of %v", cols, l.block, t)
	case cols/l.block > math.MaxInt/l.bytes:
		return 0, fmt.Errorf("gguf: size row: %d columns of %v do not fit in memory", cols, t)
	}
	return cols / l.block * l.bytes, nil
}

func supportedTypes() string {
	var names []string
	for _, l := range layouts {
		if l.block > 0 {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, ", ")
}
