package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// Trainer changes the weights of a Model step by step. It must not be used by two goroutines at
// once, and must be closed.
type Trainer struct {
	model   *Model
	cfg     Config
	workers []*worker
	pool    *tensor.Pool
	optim   optimiser
	steps   int

	seqs   []Sequence
	shares [][]int // the sequences that each worker computes
	order  []int
	load   []int // tokens of each worker, used while distributing
	passes passJob
	reduce reduceJob
}

// Stats holds the results of a step or an evaluation.
type Stats struct {
	Step      int     // steps so far that changed the weights
	Tokens    int     // number of tokens computed
	Loss      float64 // mean weighted cross entropy: the sum of each token's loss times its weight, divided by the sum of absolute weights
	Weight    float64 // that sum of absolute weights
	Decisions int     // tokens of weight 1 or more
	Hits      int     // decisions for which the right token was the likeliest
	Answers   int     // sequences with decisions
	Right     int     // sequences for which all decisions were hits
	Lists     int     // sequences with several answers
	Chosen    int     // number of those sequences whose right answer is likelier than the wrong ones
	Contrast  float64 // mean loss of choosing the right answer
	GradNorm  float64 // norm of the gradient before clipping
	Skipped   bool    // the gradient was not finite, so nothing was changed

	Balance  float64   // balancing loss, mean over layers; 1 means that tokens are spread evenly
	Load     []float64 // for each layer, the busiest expert's tokens divided by the mean
	Overflow float64   // share of the tokens beyond an expert's capacity
}

// MaxLoad returns the largest load of any layer, or 0 for a dense model.
func (s Stats) MaxLoad() float64 {
	if len(s.Load) == 0 {
		return 0
	}
	return slices.Max(s.Load)
}

// Accuracy returns the share of decisions that were right.
func (s Stats) Accuracy() float64 { return float64(s.Hits) / max(1, float64(s.Decisions)) }

// NewTrainer returns a trainer of m, whose weights it changes.
func NewTrainer(m *Model, cfg Config) (*Trainer, error) {
	if err := cfg.fillIn(); err != nil {
		return nil, fmt.Errorf("train: make trainer: %w", err)
	}
	t := &Trainer{model: m, cfg: cfg, pool: tensor.NewPool(cfg.Workers)}
	angles, err := rotations(m.shape)
	if err != nil {
		t.pool.Close()
		return nil, fmt.Errorf("train: make trainer: %w", err)
	}
	for range cfg.Workers {
		t.workers = append(t.workers, newWorker(m, &t.cfg, angles))
	}
	t.shares, t.load = make([][]int, cfg.Workers), make([]int, cfg.Workers)
	t.passes.t, t.reduce.t = t, t
	t.optim.init(t)
	return t, nil
}

// Close ends the workers.
func (t *Trainer) Close() { t.pool.Close() }

// Model returns the model being trained.
func (t *Trainer) Model() *Model { return t.model }

// Steps returns the number of steps so far that changed the weights.
func (t *Trainer) Steps() int { return t.steps }

func rotations(s Shape) ([]float32, error) {
	rope, err := tensor.NewRope(tensor.RopeConfig{Dims: s.HeadDim, Base: float32(s.base())})
	if err != nil {
		return nil, err
	}
	angles := make([]float32, s.Context*s.HeadDim)
	for i := range s.Context {
		rope.Angles(angles[i*s.HeadDim:(i+1)*s.HeadDim], i)
	}
	return angles, nil
}

// Step trains on one batch: it computes the gradient of the batch's weighted loss and changes the
// weights. The parameter rate is a factor of the configured learning rates.
func (t *Trainer) Step(batch []Sequence, rate float64) (Stats, error) {
	s, err := t.run(batch, true)
	if err != nil {
		return s, fmt.Errorf("train: step: %w", err)
	}
	norm := t.reduce.run()
	s.GradNorm = norm
	if norm-norm != 0 || s.Loss-s.Loss != 0 {
		s.Skipped, s.Step = true, t.steps
		return s, nil
	}
	scale := 1.0
	if t.cfg.Clip > 0 && norm > t.cfg.Clip {
		scale = t.cfg.Clip / norm
	}
	t.steps++
	s.Step = t.steps
	t.optim.step(rate, scale)
	return s, nil
}

// Evaluate returns the Stats that Step would report, without changing the weights.
func (t *Trainer) Evaluate(batch []Sequence) (Stats, error) {
	s, err := t.run(batch, false)
	if err != nil {
		return s, fmt.Errorf("train: evaluate: %w", err)
	}
	s.Step = t.steps
	return s, nil
}

func (t *Trainer) run(batch []Sequence, learn bool) (Stats, error) {
	weight, tokens := 0.0, 0
	for i, s := range batch {
		if err := s.check(t.model.shape); err != nil {
			return Stats{}, fmt.Errorf("sequence %d: %w", i, err)
		}
		weight += s.weight()
		tokens += len(s.Tokens)
	}
	if weight == 0 {
		return Stats{}, errors.New("the batch has no token of a weight that is not zero: there is nothing to learn")
	}
	t.share(batch)
	for _, w := range t.workers {
		w.learn, w.perWeight = learn, 1/weight
		w.balance = float32(t.cfg.Balance / float64(tokens))
		w.sum.reset()
	}
	t.pool.Run(len(t.workers), &t.passes)
	return t.collect(), nil
}

// share distributes the sequences among the workers. Starting with the longest, it assigns each
// sequence to the worker with the fewest tokens. The result is deterministic, because the last bits
// of the sums depend on it.
func (t *Trainer) share(batch []Sequence) {
	t.seqs = batch
	t.order = grow(t.order, len(batch))
	for i := range t.order {
		t.order[i] = i
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return len(batch[b].Tokens) - len(batch[a].Tokens) })
	clear(t.load)
	for i := range t.shares {
		t.shares[i] = t.shares[i][:0]
	}
	for _, i := range t.order {
		least := 0
		for j, n := range t.load {
			if n < t.load[least] {
				least = j
			}
		}
		n := len(batch[i].Tokens)
		t.load[least] += n + n*n/attentionCost
		t.shares[least] = append(t.shares[least], i)
	}
}

// attentionCost is the sequence length above which attention costs more per token than everything
// else.
const attentionCost = 3000

// passJob computes the shares of the workers.
type passJob struct{ t *Trainer }

// Do computes share i.
func (j *passJob) Do(_, i int) {
	w := j.t.workers[i]
	if w.learn {
		clear(w.grads)
	}
	w.batch.reset()
	for _, s := range j.t.shares[i] {
		seq := j.t.seqs[s]
		if w.batch.len() > 0 && w.batch.len()+len(seq.Tokens) > j.t.cfg.MicroTokens {
			w.pass()
			w.batch.reset()
		}
		w.batch.add(seq)
	}
	if w.batch.len() > 0 {
		w.pass()
	}
}

func (t *Trainer) collect() Stats {
	shape, s := t.model.shape, Stats{}
	all := &t.workers[0].sum
	loss, aux, overflow, contrast := all.loss, all.aux, all.overflow, all.contrast
	s.Lists, s.Chosen = all.lists, all.chosen
	s.Tokens, s.Weight, s.Decisions, s.Hits = all.tokens, all.weight, all.decisions, all.hits
	s.Answers, s.Right = all.answers, all.right
	for _, w := range t.workers[1:] {
		loss, aux, overflow, contrast = loss+w.sum.loss, aux+w.sum.aux, overflow+w.sum.overflow, contrast+w.sum.contrast
		s.Lists, s.Chosen = s.Lists+w.sum.lists, s.Chosen+w.sum.chosen
		s.Tokens, s.Weight = s.Tokens+w.sum.tokens, s.Weight+w.sum.weight
		s.Decisions, s.Hits = s.Decisions+w.sum.decisions, s.Hits+w.sum.hits
		s.Answers, s.Right = s.Answers+w.sum.answers, s.Right+w.sum.right
		for i, n := range w.sum.load {
			all.load[i] += n
		}
	}
	s.Loss, s.Contrast = loss/s.Weight, contrast/max(1, float64(s.Lists))
	if shape.Experts == 0 {
		return s
	}
	s.Balance = aux / float64(s.Tokens*shape.Layers)
	s.Overflow = float64(overflow) / float64(s.Tokens*shape.Layers*shape.Active)
	mean := float64(s.Tokens*shape.Active) / float64(shape.Experts)
	s.Load = make([]float64, shape.Layers)
	for i := range s.Load {
		s.Load[i] = float64(slices.Max(all.load[i*shape.Experts:(i+1)*shape.Experts])) / mean
	}
	return s
}

// reduceChunk is the number of gradients added up at a time.
const reduceChunk = 1 << 16

// reduceJob adds the gradients of all workers to those of the first.
type reduceJob struct {
	t    *Trainer
	sums []float64 // sum of squares of each chunk, added up in a fixed order, whichever worker computed them
}

func (j *reduceJob) run() float64 {
	n := (len(j.t.model.weights) + reduceChunk - 1) / reduceChunk
	j.sums = grow(j.sums, n)
	j.t.pool.Run(n, j)
	sum := 0.0
	for _, v := range j.sums {
		sum += v
	}
	return math.Sqrt(sum)
}

// Do adds up chunk i.
func (j *reduceJob) Do(_, i int) {
	lo, hi := i*reduceChunk, min((i+1)*reduceChunk, len(j.t.model.weights))
	all := j.t.workers[0].grads[lo:hi]
	for _, w := range j.t.workers[1:] {
		tensor.AddTo(all, w.grads[lo:hi])
	}
	sum := 0.0
	for len(all) > 0 {
		n := min(len(all), 1024)
		sum += float64(tensor.Product(all[:n], all[:n]))
		all = all[n:]
	}
	j.sums[i] = sum
}
