package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// guesser is a drafter that does the computation of a draft model but then proposes tokens from the
// script: a given share of them right, the others wrong.
type guesser struct {
	small *model // nil: guesses cost nothing
	cache *transformer.Cache
	seq   transformer.Seq
	held  []int32 // tokens in the cache of seq

	text  []int32 // what will be generated
	start int     // number of tokens before text
	right float64
	seed  uint64
}

// newGuesser returns a guesser that has read the prompt.
func newGuesser(small *model, prompt, text []int32, right float64, seed uint64) (*guesser, error) {
	g := &guesser{small: small, text: text, start: len(prompt), right: right, seed: seed}
	if small == nil {
		return g, nil
	}
	var err error
	pages := transformer.PagesFor(len(prompt) + len(text) + 64)
	if g.cache, err = transformer.NewCache(small.net, transformer.CacheConfig{Type: small.o.kv, Pages: pages}); err != nil {
		return nil, err
	}
	for range pages {
		p, _ := g.cache.Alloc()
		g.seq.Pages = append(g.seq.Pages, p)
	}
	return g, g.read(prompt[:len(prompt)-1])
}

// read brings the small network's cache up to date with tokens.
func (g *guesser) read(tokens []int32) error {
	n := 0
	for n < min(len(g.held), len(tokens)) && g.held[n] == tokens[n] {
		n++
	}
	g.seq.Len = n
	for n < len(tokens) {
		k := min(len(tokens)-n, chunk)
		if err := g.small.net.Forward(g.cache, []transformer.Slice{{Seq: &g.seq, Tokens: tokens[n : n+k], Outputs: 1}}); err != nil {
			return err
		}
		n += k
	}
	g.held = append(g.held[:0], tokens...)
	return nil
}

// close frees the memory of the cache. The caller calls it after the text has ended, when the
// engine no longer uses the guesser.
func (g *guesser) close() {
	if g.cache != nil {
		g.cache.Close()
	}
}

// Name returns "guesser".
func (g *guesser) Name() string { return "guesser" }

// Draft proposes tokens and runs one pass of the small network for each.
func (g *guesser) Draft(tokens []int32, most int, dst []int32) []int32 {
	all := append([]int32(nil), tokens...)
	for range most {
		pos := len(all) - g.start
		if pos >= len(g.text) {
			break
		}
		if g.small != nil && (g.read(all) != nil || largest(g.small.net.Logits(0)) < 0) {
			break
		}
		t := g.text[pos]
		if rand.New(rand.NewPCG(g.seed, uint64(pos))).Float64() >= g.right {
			t ^= 1
		}
		all = append(all, t)
		dst = append(dst, t)
	}
	return dst
}

// largest returns the index of the largest logit, as a draft model would.
func largest(logits []float32) int {
	best := -1
	for i, v := range logits {
		if best < 0 || v > logits[best] {
			best = i
		}
	}
	return best
}

// drafts generates code with a small network that is right a given share of the time.
func drafts(o options, file string, threads int) error {
	if o.draft == "" {
		return fmt.Errorf("-draft is missing; name the file of a small model")
	}
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	small, err := open(o.draft, threads, o)
	if err != nil {
		return err
	}
	defer small.close()
	prompt, text, err := m.code(300, 2*o.generate)
	if err != nil {
		return err
	}
	c, err := m.contest(prompt, text, scheduler.Request{}, func() (*guesser, error) {
		return newGuesser(small, prompt, text, o.accept, o.seed)
	})
	if err != nil {
		return err
	}
	row(base(file), base(o.draft), threads, percent(int(1000*o.accept), 1000), c.fast, c.slow, c.fast/c.slow,
		float64(c.last.Generated)/float64(c.last.Passes), percent(c.last.Accepted, c.last.Drafted))
	return nil
}

// code returns some Go source as tokens: a prompt and its continuation.
func (m *model) code(prompt, text int) ([]int32, []int32, error) {
	tok, err := m.tokenizer()
	if err != nil {
		return nil, nil, err
	}
	src, err := allSource((prompt + text) / 4)
	if err != nil {
		return nil, nil, err
	}
	tokens := tok.Encode(src, false)
	if len(tokens) < prompt+text {
		return nil, nil, fmt.Errorf("the sources have only %d tokens", len(tokens))
	}
	return tokens[:prompt:prompt], tokens[prompt : prompt+text], nil
}

// contestants holds the rates with and without drafts.
type contestants struct {
	fast, slow float64
	last       scheduler.Stats // of a text with drafts
}

// contest generates text with the drafters of request and a guesser, if there is one, and without
// any. It takes turns, each time with a new engine that has learned nothing.
func (m *model) contest(prompt, text []int32, request scheduler.Request, guess func() (*guesser, error)) (contestants, error) {
	var c contestants
	var fast, slow []float64
	for range m.o.reps {
		r := request
		r.Prompt = prompt
		s, err := m.compete(r, text, guess)
		if err != nil {
			return c, err
		}
		c.last, fast = s, append(fast, rate(s))
		if s, err = m.compete(scheduler.Request{Prompt: prompt, NoSpeculation: true}, text, nil); err != nil {
			return c, err
		}
		slow = append(slow, rate(s))
	}
	c.fast, c.slow = median(fast), median(slow)
	return c, nil
}

func (m *model) compete(r scheduler.Request, text []int32, guess func() (*guesser, error)) (scheduler.Stats, error) {
	if guess != nil {
		g, err := guess()
		if err != nil {
			return scheduler.Stats{}, err
		}
		defer g.close()
		r.Drafters = []scheduler.Drafter{g}
	}
	e, err := m.engine(len(r.Prompt)+len(text)+8, scheduler.EngineConfig{})
	if err != nil {
		return scheduler.Stats{}, err
	}
	defer e.Close()
	return say(e, r, text, nil)
}
