package tensor

import (
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// The products for arm64 are macros. For each type, there are macros that read the scales from its
// header and unpack four of its columns (blocks_arm64.h, supers_arm64.h). From these, mul_arm64.h
// derives the kernels for 1, 2 and 4 tokens, with SDOT and without. The float types have separate
// kernels, in mul_float_arm64.s.

// runDot calls the kernel of type t for k tokens: 1, 2 or 4. It returns false if there is none.
func runDot(t gguf.Type, k int, c *call) bool {
	p := (*byte)(unsafe.Pointer(c))
	switch t {
	case gguf.TypeQ8_0:
		switch k {
		case 1:
			dotQ80x1(p)
		case 2:
			dotQ80x2(p)
		case 4:
			dotQ80x4(p)
		}
	case gguf.TypeQ4_0:
		switch k {
		case 1:
			dotQ40x1(p)
		case 2:
			dotQ40x2(p)
		case 4:
			dotQ40x4(p)
		}
	case gguf.TypeQ4_1:
		switch k {
		case 1:
			dotQ41x1(p)
		case 2:
			dotQ41x2(p)
		case 4:
			dotQ41x4(p)
		}
	case gguf.TypeQ5_0:
		switch k {
		case 1:
			dotQ50x1(p)
		case 2:
			dotQ50x2(p)
		case 4:
			dotQ50x4(p)
		}
	case gguf.TypeQ5_1:
		switch k {
		case 1:
			dotQ51x1(p)
		case 2:
			dotQ51x2(p)
		case 4:
			dotQ51x4(p)
		}
	case gguf.TypeIQ4_NL:
		switch k {
		case 1:
			dotIQ4NLx1(p)
		case 2:
			dotIQ4NLx2(p)
		case 4:
			dotIQ4NLx4(p)
		}
	case gguf.TypeMXFP4:
		switch k {
		case 1:
			dotMXFP4x1(p)
		case 2:
			dotMXFP4x2(p)
		case 4:
			dotMXFP4x4(p)
		}
	case gguf.TypeQ4_K:
		switch k {
		case 1:
			dotQ4Kx1(p)
		case 2:
			dotQ4Kx2(p)
		case 4:
			dotQ4Kx4(p)
		}
	case gguf.TypeQ5_K:
		switch k {
		case 1:
			dotQ5Kx1(p)
		case 2:
			dotQ5Kx2(p)
		case 4:
			dotQ5Kx4(p)
		}
	case gguf.TypeQ6_K:
		switch k {
		case 1:
			dotQ6Kx1(p)
		case 2:
			dotQ6Kx2(p)
		case 4:
			dotQ6Kx4(p)
		}
	case gguf.TypeQ2_K:
		switch k {
		case 1:
			dotQ2Kx1(p)
		case 2:
			dotQ2Kx2(p)
		case 4:
			dotQ2Kx4(p)
		}
	case gguf.TypeQ3_K:
		switch k {
		case 1:
			dotQ3Kx1(p)
		case 2:
			dotQ3Kx2(p)
		case 4:
			dotQ3Kx4(p)
		}
	case gguf.TypeIQ4_XS:
		switch k {
		case 1:
			dotIQ4XSx1(p)
		case 2:
			dotIQ4XSx2(p)
		case 4:
			dotIQ4XSx4(p)
		}
	case gguf.TypeF32:
		switch k {
		case 1:
			neonF32x1(p)
		case 2:
			neonF32x2(p)
		case 4:
			neonF32x4(p)
		}
	case gguf.TypeF16:
		switch k {
		case 1:
			neonF16x1(p)
		case 2:
			neonF16x2(p)
		case 4:
			neonF16x4(p)
		}
	case gguf.TypeBF16:
		switch k {
		case 1:
			neonBF16x1(p)
		case 2:
			neonBF16x2(p)
		case 4:
			neonBF16x4(p)
		}
	default:
		return false
	}
	return true
}

//go:noescape
func dotQ80x1(c *byte)

//go:noescape
func dotQ80x2(c *byte)

//go:noescape
func dotQ80x4(c *byte)

//go:noescape
func dotQ40x1(c *byte)

//go:noescape
func dotQ40x2(c *byte)

//go:noescape
func dotQ40x4(c *byte)

//go:noescape
func dotQ41x1(c *byte)

//go:noescape
func dotQ41x2(c *byte)

//go:noescape
func dotQ41x4(c *byte)

//go:noescape
func dotQ50x1(c *byte)

//go:noescape
func dotQ50x2(c *byte)

//go:noescape
func dotQ50x4(c *byte)

//go:noescape
func dotQ51x1(c *byte)

//go:noescape
func dotQ51x2(c *byte)

//go:noescape
func dotQ51x4(c *byte)

//go:noescape
func dotIQ4NLx1(c *byte)

//go:noescape
func dotIQ4NLx2(c *byte)

//go:noescape
func dotIQ4NLx4(c *byte)

//go:noescape
func dotMXFP4x1(c *byte)

//go:noescape
func dotMXFP4x2(c *byte)

//go:noescape
func dotMXFP4x4(c *byte)

//go:noescape
func dotQ4Kx1(c *byte)

//go:noescape
func dotQ4Kx2(c *byte)

//go:noescape
func dotQ4Kx4(c *byte)

//go:noescape
func dotQ5Kx1(c *byte)

//go:noescape
func dotQ5Kx2(c *byte)

//go:noescape
func dotQ5Kx4(c *byte)

//go:noescape
func dotQ6Kx1(c *byte)

//go:noescape
func dotQ6Kx2(c *byte)

//go:noescape
func dotQ6Kx4(c *byte)

//go:noescape
func dotQ2Kx1(c *byte)

//go:noescape
func dotQ2Kx2(c *byte)

//go:noescape
func dotQ2Kx4(c *byte)

//go:noescape
func dotQ3Kx1(c *byte)

//go:noescape
func dotQ3Kx2(c *byte)

//go:noescape
func dotQ3Kx4(c *byte)

//go:noescape
func dotIQ4XSx1(c *byte)

//go:noescape
func dotIQ4XSx2(c *byte)

//go:noescape
func dotIQ4XSx4(c *byte)
