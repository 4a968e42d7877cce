//go:build race

package transformer

// underRace reports whether the race detector is on. It makes sync.Pool drop items at random, so
// allocations are not counted.
const underRace = true
