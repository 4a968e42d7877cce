package tensor

import "golang.org/x/sys/cpu"

// The kernel sets of this processor. They use the names of the constants for amd64.
const (
	isaNEON = isaAVX2
	isaDot  = isaAVX512 // NEON with SDOT
)

// detect returns the best kernel set for this processor. All processors that run Go have NEON.
func detect() isa {
	if cpu.ARM64.HasASIMDDP {
		return isaDot
	}
	return isaNEON
}

// tile returns the number of the n tokens that the next kernel should take.
func (s isa) tile(n int) int {
	switch {
	case s == isaGo:
		return min(n, maxTile)
	case n >= 4:
		return 4
	}
	return min(n, 2)
}

// run calls the kernel for k tokens.
func (s isa) run(l *layout, k int, c *call) {
	switch {
	case s == isaDot && runDot(l.typ, k, c):
	case s == isaNEON && runNEON(l.typ, k, c):
	default:
		runGo(l, k, c)
	}
}

func (s isa) pack(*packPlan, []byte, []byte, int) bool { return false }

func (s isa) pairs(*layout, int) bool { return false }

func (s isa) runPair(*layout, *call) {}

func (s isa) unpacks(*layout, int) bool { return false }

func (s isa) unpack(*layout, *call) {}

func (s isa) runWide(*layout, *call) {}
