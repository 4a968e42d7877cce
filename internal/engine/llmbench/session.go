package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// session simulates an agent: a prompt of 3,000 tokens, then turns that consist of an answer of
// 50–300 tokens and a tool's result of 300–1,500.
func session(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	rng := rand.New(rand.NewPCG(o.seed, 2))
	answers, results, total := make([]int, o.turns), make([]int, o.turns), 3000
	for i := range o.turns {
		answers[i], results[i] = 50+rng.IntN(251), 300+rng.IntN(1201)
		total += answers[i] + results[i]
	}
	prompt, rest, err := m.code(3000, total-3000)
	if err != nil {
		return err
	}
	e, err := m.engine(total+8, scheduler.EngineConfig{})
	if err != nil {
		return err
	}
	defer e.Close()
	first, twice, known, generated := []time.Duration(nil), 0, 0, 0
	var decode time.Duration
	for i := range o.turns {
		answer := rest[:answers[i]]
		s, err := say(e, scheduler.Request{Prompt: prompt, Key: "session"}, answer, nil)
		if err != nil {
			return err
		}
		first = append(first, s.Queue+s.Prefill)
		twice += max(0, s.Prefilled-(len(prompt)-known))
		known = len(prompt) + len(answer) - 1 // the last token of an answer is chosen, but not computed in a pass
		generated += s.Generated
		decode += s.Decode
		prompt = append(append(prompt, answer...), rest[answers[i]:answers[i]+results[i]]...)
		rest = rest[answers[i]+results[i]:]
	}
	slices.Sort(first)
	row(base(file), threads, o.turns, total, twice, percent(twice, total), seconds(first[len(first)/2]), seconds(first[len(first)-1]),
		fmt.Sprintf("%.2f", float64(generated)/decode.Seconds()))
	return nil
}
