//go:build race

package transformer

// underRace: the race detector makes sync.Pool forget at random, so allocations are not counted.
const underRace = true
