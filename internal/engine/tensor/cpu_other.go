//go:build !amd64 && !arm64

package tensor

func detect() isa { return isaGo }

func (s isa) tile(n int) int { return min(n, maxTile) }

func (s isa) run(l *layout, k int, c *call) { runGo(l, k, c) }

func (f form) roundVector(isa, []byte, []float32) bool { return false }

func (s isa) pack(*packPlan, []byte, []byte, int) bool { return false }

func (s isa) pairs(*layout, int) bool { return false }

func (s isa) runPair(*layout, *call) {}

func (s isa) unpacks(*layout, int) bool { return false }

func (s isa) unpack(*layout, *call) {}

func (s isa) runWide(*layout, *call) {}
