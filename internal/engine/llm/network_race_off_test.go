//go:build !race

package llm

const underRace = false
