package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/router/moe"
)

// An answer is one sampled answer and its reward.
type answer struct {
	message agent.Message
	tokens  []int32 // as sampled, including the end token
	text    string  // text written by the model; "" if it is not a complete call
	read    int     // number of the function to read; 0 for an edit
	edit    reward.Candidate
	judged  reward.Judgement
	reward  float64
	counts  bool // whether the verdict is known
}

// engine returns an engine with the current weights.
func (r *rl) engine() (*moe.Model, error) {
	m := r.trainer.Model()
	var w gguf.Writer
	err := m.Export(&w, train.ExportConfig{Type: gguf.TypeQ8_0, Name: "rl", Template: repair.Template,
		Vocab: func(w *gguf.Writer) error { r.vocab.Set(w); return nil }})
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	if _, err := w.WriteTo(&data); err != nil {
		return nil, err
	}
	slots := r.ask.slots
	return moe.LoadBytes("the weights of this round", data.Bytes(), moe.Config{Constrain: moe.ConstrainExact, NoSpeculation: true,
		Slots: slots, Queue: 4*slots + 8*r.ask.group, KVTokens: (slots + 8) * m.Shape().Context, Threads: r.config.Workers})
}

// sample samples answers to the prompts of round n, many at once.
func (r *rl) sample(ctx context.Context, n int, rng *rand.Rand) ([]*prompt, error) {
	prompts := r.draw(rng)
	if len(prompts) == 0 {
		return nil, errors.New("no task's prompt fits the model's context")
	}
	seeds := make([]uint64, len(prompts))
	for i := range seeds {
		seeds[i] = rng.Uint64()
	}
	m, err := r.engine()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	errs := make([]error, len(prompts))
	queue := make(chan int)
	var wg sync.WaitGroup
	for range r.ask.slots/r.ask.group + 1 { // one more than fit, so that there is always a prompt to compute
		wg.Go(func() {
			for i := range queue {
				errs[i] = r.answers(ctx, m, prompts[i], seeds[i])
			}
		})
	}
	for i := range prompts {
		queue <- i
	}
	close(queue)
	wg.Wait()
	return prompts, errors.Join(errs...)
}

// answers samples a group of answers to a prompt. The prompt is computed only once.
func (r *rl) answers(ctx context.Context, m *moe.Model, p *prompt, seed uint64) error {
	req := p.request()
	if r.method == methodList || r.method == methodTail {
		return r.likeliest(ctx, m, p, req)
	}
	if err := m.Warm(ctx, req); err != nil {
		return fmt.Errorf("ask about %s: %w", p.task.ID, err)
	}
	p.answers = make([]answer, r.ask.group)
	errs := make([]error, r.ask.group)
	var wg sync.WaitGroup
	for i := range p.answers {
		wg.Go(func() {
			own := *req
			s := int64((seed + uint64(i)*0x9e3779b97f4a7c15) >> 1)
			own.Seed, own.Temperature = &s, &r.ask.temperature
			errs[i] = p.answers[i].fill(ctx, m, p, &own)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ask about %s: %w", p.task.ID, err)
	}
	return nil
}

// likeliest searches for a prompt's likeliest answers, up to the size of the group.
func (r *rl) likeliest(ctx context.Context, m *moe.Model, p *prompt, req *agent.Request) error {
	search, err := m.Search(ctx, req)
	for err == nil && len(p.answers) < r.ask.group {
		var found *moe.Answer
		if found, err = search.Next(ctx); err != nil {
			break
		}
		told := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				for _, c := range found.Chunks {
					if !yield(c, nil) {
						return
					}
				}
			}
		})
		var a answer
		err = a.fill(ctx, told, p, req)
		p.answers = append(p.answers, a)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("ask about %s: %w", p.task.ID, err)
	}
	return nil
}

// fill gets an answer from a model and parses it.
func (a *answer) fill(ctx context.Context, m agent.Model, p *prompt, req *agent.Request) error {
	ctx = agent.WithTokenTrace(ctx, &agent.TokenTrace{Token: func(t agent.Token) { a.tokens = append(a.tokens, t.ID) }})
	resp, err := agent.Generate(ctx, m, req)
	if err != nil {
		return err
	}
	a.message = resp.Message
	calls := resp.Message.Calls()
	if len(calls) != 1 || resp.Finish == agent.FinishLength {
		return nil // the answer was cut off
	}
	var args struct {
		Number, Line int
		Text         string
	}
	if err := json.Unmarshal(calls[0].Args, &args); err != nil {
		return fmt.Errorf("read the arguments of %s: %w", calls[0].Name, err)
	}
	if calls[0].Name == repair.ToolRead {
		a.read, a.text = args.Number, repair.AnswerRead(args.Number)
		return nil
	}
	a.edit = reward.Candidate{Task: p.task, Line: args.Line, Text: args.Text}
	a.text = repair.AnswerEdit(args.Line, args.Text)
	return nil
}
