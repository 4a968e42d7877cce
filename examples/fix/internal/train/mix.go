package train

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Source is a set of sequences to learn from, such as a dataset file in memory.
type Source interface {
	// Len returns the number of sequences.
	Len() int
	// Read replaces the contents of dst, whose memory it reuses, with sequence i.
	Read(i int, dst *Sequence)
}

// Mixed is a source with its share in a mix.
type Mixed struct {
	Source Source
	Share  float64 // of the tokens, relative to the other shares; positive
	Name   string  // for people
}

// Mix draws batches from several sources so that each contributes its share of the tokens. Each
// pass over a source has a new random order. The draws depend only on the seed and the position.
type Mix struct {
	sources []Mixed
	seed    uint64
	context int
	at      []position
	orders  [][]int32
	batch   []Sequence
	cut     int
}

// position records the position in a source.
type position struct {
	Epoch, Next int
	Tokens      int64 // drawn so far
}

// NewMix returns a mix. Sequences longer than context are cut at their beginning.
func NewMix(sources []Mixed, context int, seed uint64) (*Mix, error) {
	if len(sources) == 0 {
		return nil, errors.New("train: mix sources: there are none")
	}
	m := &Mix{sources: sources, seed: seed, context: context, at: make([]position, len(sources)), orders: make([][]int32, len(sources))}
	for i, s := range sources {
		if !(s.Share > 0) || s.Share-s.Share != 0 {
			return nil, fmt.Errorf("train: mix sources: the share of %s is %v; it must be positive", s.Name, s.Share)
		}
		if s.Source.Len() == 0 {
			return nil, fmt.Errorf("train: mix sources: %s is empty", s.Name)
		}
		m.shuffle(i)
	}
	return m, nil
}

func (m *Mix) shuffle(i int) {
	n := m.sources[i].Source.Len()
	m.orders[i] = grow(m.orders[i], n)
	order := m.orders[i]
	for j := range order {
		order[j] = int32(j)
	}
	rng := rand.New(rand.NewPCG(m.seed, uint64(i)<<32|uint64(m.at[i].Epoch)))
	rng.Shuffle(n, func(a, b int) { order[a], order[b] = order[b], order[a] })
}

// Batch draws sequences with about the given number of tokens in total, but at least one sequence.
// They are valid until the next call.
func (m *Mix) Batch(tokens int) []Sequence {
	n, sum := 0, 0
	for sum < tokens {
		if n == len(m.batch) {
			m.batch = append(m.batch, Sequence{})
		}
		m.draw(&m.batch[n])
		sum += len(m.batch[n].Tokens)
		n++
	}
	return m.batch[:n]
}

// draw reads the next sequence from the source that is furthest behind its share.
func (m *Mix) draw(dst *Sequence) {
	least, behind := 0, 0.0
	for i := range m.sources {
		if v := float64(m.at[i].Tokens) / m.sources[i].Share; i == 0 || v < behind {
			least, behind = i, v
		}
	}
	p := &m.at[least]
	if p.Next == len(m.orders[least]) {
		p.Epoch, p.Next = p.Epoch+1, 0
		m.shuffle(least)
	}
	m.sources[least].Source.Read(int(m.orders[least][p.Next]), dst)
	p.Next++
	if over := len(dst.Tokens) - m.context; over > 0 {
		dst.Tokens = dst.Tokens[:copy(dst.Tokens, dst.Tokens[over:])]
		dst.Weights = dst.Weights[:copy(dst.Weights, dst.Weights[over:])]
		m.cut++
	}
	p.Tokens += int64(max(1, len(dst.Tokens))) // counts at least 1, so that an empty sequence is not drawn for ever
}

// Cut returns the number of sequences so far that were longer than the context.
func (m *Mix) Cut() int { return m.cut }

// Epochs returns the number of passes over each source, with fractions.
func (m *Mix) Epochs() []float64 {
	out := make([]float64, len(m.at))
	for i, p := range m.at {
		out[i] = float64(p.Epoch) + float64(p.Next)/float64(len(m.orders[i]))
	}
	return out
}

// restore sets a saved position.
func (m *Mix) restore(at []position) error {
	if len(at) != len(m.sources) {
		return fmt.Errorf("the run had %d data files, now there are %d", len(at), len(m.sources))
	}
	for i, p := range at {
		if p.Epoch < 0 || p.Next < 0 || p.Next > m.sources[i].Source.Len() || p.Tokens < 0 {
			return fmt.Errorf("%s is read from sequence %d of %d on: it is not the file the run had", m.sources[i].Name, p.Next, m.sources[i].Source.Len())
		}
	}
	copy(m.at, at)
	for i := range m.sources {
		m.shuffle(i)
	}
	return nil
}
