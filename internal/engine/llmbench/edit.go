package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// edits rewrites files of several lengths with several amounts of change, with and without
// speculation.
func edits(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	for i, lines := range o.lines {
		for _, percent := range o.edits {
			if err := m.edit(base(file), threads, i, lines, percent); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *model) edit(name string, threads, source, lines, percent1 int) error {
	tok, err := m.tokenizer()
	if err != nil {
		return err
	}
	all, err := readSource(source)
	if err != nil {
		return err
	}
	if len(all) < lines {
		return fmt.Errorf("%s has only %d lines", sources[source], len(all))
	}
	old := all[:lines]
	ref := tok.Encode(strings.Join(old, ""), false)
	prompt := append(tok.Encode("Rewrite this file as asked, in full.\n\n", false), ref...)
	text := tok.Encode(edited(old, percent1, rand.New(rand.NewPCG(m.o.seed, uint64(lines*100+percent1)))), false)
	var fast, slow []float64
	var last scheduler.Stats
	for range m.o.reps {
		e, err := m.engine(len(prompt)+len(text)+8, scheduler.EngineConfig{})
		if err != nil {
			return err
		}
		last, err = say(e, scheduler.Request{Prompt: prompt, References: [][]int32{ref}}, text, nil)
		if err == nil {
			fast = append(fast, rate(last))
			err = m.plain(e, prompt, text, &slow)
		}
		e.Close()
		if err != nil {
			return err
		}
	}
	row(name, threads, lines, fmt.Sprintf("%d %%", percent1), len(text), median(fast), median(slow), median(fast)/median(slow),
		float64(last.Generated)/float64(last.Passes), percent(last.Accepted, last.Drafted))
	return nil
}

// plain measures generation without speculation at the beginning, in the middle and at the end of a
// text that the engine has in its cache. It appends to the slice rates the rate at which the whole
// text would be generated.
func (m *model) plain(e *scheduler.Engine, prompt, text []int32, rates *[]float64) error {
	n := min(m.o.generate, len(text)/3)
	each := 0.0
	for _, at := range []int{0, (len(text) - n) / 2, len(text) - n} {
		begin := append(prompt[:len(prompt):len(prompt)], text[:at]...)
		s, err := say(e, scheduler.Request{Prompt: begin, NoSpeculation: true}, text[at:at+n], nil)
		if err != nil {
			return err
		}
		each += 1 / rate(s) / 3
	}
	*rates = append(*rates, 1/each)
	return nil
}
