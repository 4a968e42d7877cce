package main

import (
	"math/rand/v2"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// refused generates a text that drafters predict wrongly.
func refused(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	var small *model
	if o.draft != "" {
		if small, err = open(o.draft, threads, o); err != nil {
			return err
		}
		defer small.close()
	}
	prompt, _, err := m.code(600, 1)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	text, traps := m.random(4*o.generate, rng), trap(prompt, 4*o.generate, rng)
	wrong := func(small *model) func() (*guesser, error) {
		return func() (*guesser, error) { return newGuesser(small, prompt, text, 0, o.seed) }
	}
	type trial struct {
		name    string
		text    []int32
		request scheduler.Request
		guess   func() (*guesser, error)
	}
	cases := []trial{
		{"free guesses, all wrong", text, scheduler.Request{}, wrong(nil)},
		{"edit, history, lookup: traps", traps, scheduler.Request{References: [][]int32{prompt}, Key: "session"}, nil},
	}
	if small != nil {
		cases = append(cases, trial{base(o.draft) + ", all wrong", text, scheduler.Request{}, wrong(small)})
	}
	for _, c := range cases {
		r, err := m.contest(prompt, c.text, c.request, c.guess)
		if err != nil {
			return err
		}
		row(base(file), threads, c.name, r.fast, r.slow, r.fast/r.slow, r.last.Drafted, percent(r.last.Accepted, r.last.Drafted))
	}
	return nil
}

// trap returns a text of n tokens that consists of short runs from another text, each followed by a
// different token than in that text. So the text looks familiar and then continues differently.
func trap(from []int32, n int, rng *rand.Rand) []int32 {
	var text []int32
	for len(text) < n {
		at := rng.IntN(len(from) - 8)
		run := from[at : at+2+rng.IntN(2)]
		if len(text) > 0 && text[len(text)-1] == run[0] {
			continue
		}
		text = append(text, run...)
	}
	return text[:n]
}
