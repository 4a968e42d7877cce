//go:build race

package tensor

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop items at random, so
// allocations are not counted.
const raceEnabled = true
