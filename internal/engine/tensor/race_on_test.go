//go:build race

package tensor

// raceEnabled: the race detector makes sync.Pool forget at random, so allocations are not counted.
const raceEnabled = true
