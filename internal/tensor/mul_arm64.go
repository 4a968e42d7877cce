package tensor

import (
	"unsafe"

	"github.com/luthier-dev/luthier/internal/gguf"
)

// runDot calls the kernel of type t for k tokens: 1, 2 or 4. False where there is none.
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
	case gguf.TypeQ4_K:
		switch k {
		case 1:
			dotQ4Kx1(p)
		case 2:
			dotQ4Kx2(p)
		case 4:
			dotQ4Kx4(p)
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
	default:
		return false
	}
	return true
}

// runNEON calls the kernel of type t for k tokens: 1, 2 or 4. False where there is none.
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
	case gguf.TypeQ4_K:
		switch k {
		case 1:
			neonQ4Kx1(p)
		case 2:
			neonQ4Kx2(p)
		case 4:
			neonQ4Kx4(p)
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
func dotQ4Kx1(c *byte)

//go:noescape
func dotQ4Kx2(c *byte)

//go:noescape
func dotQ4Kx4(c *byte)

//go:noescape
func dotQ6Kx1(c *byte)

//go:noescape
func dotQ6Kx2(c *byte)

//go:noescape
func dotQ6Kx4(c *byte)

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
func neonQ4Kx1(c *byte)

//go:noescape
func neonQ4Kx2(c *byte)

//go:noescape
func neonQ4Kx4(c *byte)

//go:noescape
func neonQ6Kx1(c *byte)

//go:noescape
func neonQ6Kx2(c *byte)

//go:noescape
func neonQ6Kx4(c *byte)
