package tensor

import (
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// runNEON calls the kernel of type t for k tokens: 1, 2 or 4. It returns false if there is none.
func runNEON(t gguf.Type, k int, c *call) bool {
	p := (*byte)(unsafe.Pointer(c))
	switch t {
	case gguf.TypeQ8_0:
		switch k {
		case 1:
			neonQ80x1(p)
		case 2:
			neonQ80x2(p)
		case 4:
			neonQ80x4(p)
		}
	case gguf.TypeQ4_0:
		switch k {
		case 1:
			neonQ40x1(p)
		case 2:
			neonQ40x2(p)
		case 4:
			neonQ40x4(p)
		}
	case gguf.TypeQ4_1:
		switch k {
		case 1:
			neonQ41x1(p)
		case 2:
			neonQ41x2(p)
		case 4:
			neonQ41x4(p)
		}
	case gguf.TypeQ5_0:
		switch k {
		case 1:
			neonQ50x1(p)
		case 2:
			neonQ50x2(p)
		case 4:
			neonQ50x4(p)
		}
	case gguf.TypeQ5_1:
		switch k {
		case 1:
			neonQ51x1(p)
		case 2:
			neonQ51x2(p)
		case 4:
			neonQ51x4(p)
		}
	case gguf.TypeIQ4_NL:
		switch k {
		case 1:
			neonIQ4NLx1(p)
		case 2:
			neonIQ4NLx2(p)
		case 4:
			neonIQ4NLx4(p)
		}
	case gguf.TypeMXFP4:
		switch k {
		case 1:
			neonMXFP4x1(p)
		case 2:
			neonMXFP4x2(p)
		case 4:
			neonMXFP4x4(p)
		}
	case gguf.TypeQ4_K:
		switch k {
		case 1:
			neonQ4Kx1(p)
		case 2:
			neonQ4Kx2(p)
		case 4:
			neonQ4Kx4(p)
		}
	case gguf.TypeQ5_K:
		switch k {
		case 1:
			neonQ5Kx1(p)
		case 2:
			neonQ5Kx2(p)
		case 4:
			neonQ5Kx4(p)
		}
	case gguf.TypeQ6_K:
		switch k {
		case 1:
			neonQ6Kx1(p)
		case 2:
			neonQ6Kx2(p)
		case 4:
			neonQ6Kx4(p)
		}
	case gguf.TypeQ2_K:
		switch k {
		case 1:
			neonQ2Kx1(p)
		case 2:
			neonQ2Kx2(p)
		case 4:
			neonQ2Kx4(p)
		}
	case gguf.TypeQ3_K:
		switch k {
		case 1:
			neonQ3Kx1(p)
		case 2:
			neonQ3Kx2(p)
		case 4:
			neonQ3Kx4(p)
		}
	case gguf.TypeIQ4_XS:
		switch k {
		case 1:
			neonIQ4XSx1(p)
		case 2:
			neonIQ4XSx2(p)
		case 4:
			neonIQ4XSx4(p)
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
func neonQ80x1(c *byte)

//go:noescape
func neonQ80x2(c *byte)

//go:noescape
func neonQ80x4(c *byte)

//go:noescape
func neonQ40x1(c *byte)

//go:noescape
func neonQ40x2(c *byte)

//go:noescape
func neonQ40x4(c *byte)

//go:noescape
func neonQ41x1(c *byte)

//go:noescape
func neonQ41x2(c *byte)

//go:noescape
func neonQ41x4(c *byte)

//go:noescape
func neonQ50x1(c *byte)

//go:noescape
func neonQ50x2(c *byte)

//go:noescape
func neonQ50x4(c *byte)

//go:noescape
func neonQ51x1(c *byte)

//go:noescape
func neonQ51x2(c *byte)

//go:noescape
func neonQ51x4(c *byte)

//go:noescape
func neonIQ4NLx1(c *byte)

//go:noescape
func neonIQ4NLx2(c *byte)

//go:noescape
func neonIQ4NLx4(c *byte)

//go:noescape
func neonMXFP4x1(c *byte)

//go:noescape
func neonMXFP4x2(c *byte)

//go:noescape
func neonMXFP4x4(c *byte)

//go:noescape
func neonQ4Kx1(c *byte)

//go:noescape
func neonQ4Kx2(c *byte)

//go:noescape
func neonQ4Kx4(c *byte)

//go:noescape
func neonQ5Kx1(c *byte)

//go:noescape
func neonQ5Kx2(c *byte)

//go:noescape
func neonQ5Kx4(c *byte)

//go:noescape
func neonQ6Kx1(c *byte)

//go:noescape
func neonQ6Kx2(c *byte)

//go:noescape
func neonQ6Kx4(c *byte)

//go:noescape
func neonQ2Kx1(c *byte)

//go:noescape
func neonQ2Kx2(c *byte)

//go:noescape
func neonQ2Kx4(c *byte)

//go:noescape
func neonQ3Kx1(c *byte)

//go:noescape
func neonQ3Kx2(c *byte)

//go:noescape
func neonQ3Kx4(c *byte)

//go:noescape
func neonIQ4XSx1(c *byte)

//go:noescape
func neonIQ4XSx2(c *byte)

//go:noescape
func neonIQ4XSx4(c *byte)

//go:noescape
func neonF32x1(c *byte)

//go:noescape
func neonF32x2(c *byte)

//go:noescape
func neonF32x4(c *byte)

//go:noescape
func neonF16x1(c *byte)

//go:noescape
func neonF16x2(c *byte)

//go:noescape
func neonF16x4(c *byte)

//go:noescape
func neonBF16x1(c *byte)

//go:noescape
func neonBF16x2(c *byte)

//go:noescape
func neonBF16x4(c *byte)
