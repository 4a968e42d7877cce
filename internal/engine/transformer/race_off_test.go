//go:build !race

package transformer

const underRace = false
