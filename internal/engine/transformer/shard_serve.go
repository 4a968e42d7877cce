package transformer

import (
	"errors"
	"fmt"
	"io"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// ServeExperts loads the experts of f for which the function has returns true, and computes them
// for the network at the other end of conn until that end is closed, which is not an error. A
// request that cannot be computed is answered with the reason.
func ServeExperts(conn io.ReadWriter, f *gguf.File, pool *tensor.Pool, has func(layer, expert int) bool) error {
	n, err := loadExperts(f, pool, has)
	if err != nil {
		return err
	}
	defer n.Close()
	s := &expertServer{n: n, c: newWire(conn)}
	h := &n.hyper
	s.c.putInts(shardMagic, uint32(h.Embed), uint32(h.Layers), uint32(h.Experts))
	if err := s.c.w.Flush(); err != nil {
		return fmt.Errorf("transformer: serve experts: %w", err)
	}
	for {
		if err := s.serve(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("transformer: serve experts: %w", err)
		}
	}
}

// elsewhere is a placeholder for the workers of experts in other shards.
type elsewhere struct{}

func (elsewhere) Compute(int, []ExpertJob) error { return errors.New("not this worker's experts") }

// loadExperts makes a network that consists only of some experts. Each row of its passes goes to
// one of them.
func loadExperts(f *gguf.File, pool *tensor.Pool, has func(layer, expert int) bool) (*Network, error) {
	h, a, err := readHyper(f)
	if err == nil && h.Experts == 0 {
		err = fmt.Errorf("a dense network has no experts")
	}
	if err != nil {
		return nil, fmt.Errorf("transformer: load experts: %w", err)
	}
	place := func(layer, expert int) ExpertWorker {
		if has(layer, expert) {
			return nil
		}
		return elsewhere{}
	}
	n := &Network{hyper: h, arch: a, cfg: NetworkConfig{Place: place}, pool: pool, arena: tensor.NewArena(0)}
	l := loader{f: f, n: n}
	n.layers = make([]layer, h.Layers)
	for i := range n.layers {
		if l.err == nil {
			l.expertLayer(&n.layers[i], i)
		}
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	n.hyper.ActiveExperts, n.hyper.SharedFF = 1, 0
	return n, nil
}

// expertServer answers the requests of one connection.
type expertServer struct {
	n    *Network
	c    *wire
	rows int
}

func (s *expertServer) serve() error {
	if err := s.c.frame(); err != nil {
		return err
	}
	layer, err := s.request()
	if err != nil {
		return noEOF(err)
	}
	s.c.putInts(shardMagic)
	if reason := s.compute(layer); reason != "" {
		s.c.putInts(uint32(len(reason)))
		io.WriteString(s.c.w, reason)
		return s.c.w.Flush()
	}
	s.c.putInts(0)
	s.c.putFloats(s.n.pass.x[:s.rows*s.n.hyper.Embed])
	return s.c.w.Flush()
}

// noEOF distinguishes a connection that breaks inside a message from one that was closed.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// request reads the rows of all jobs into the pass, and the number of the expert of each job.
func (s *expertServer) request() (layer int, err error) {
	var l, jobs uint32
	if err := s.c.ints(&l, &jobs); err != nil {
		return 0, err
	}
	if jobs > shardMaxJobs {
		return 0, fmt.Errorf("a request of %d jobs", jobs)
	}
	p, embed := &s.n.pass, s.n.hyper.Embed
	p.x, p.moe.choice = p.x[:0], p.moe.choice[:0]
	for range jobs {
		var expert, rows uint32
		if err := s.c.ints(&expert, &rows); err != nil {
			return 0, err
		}
		at := len(p.x)
		if rows > shardMaxRows || at/embed+int(rows) > shardMaxRows {
			return 0, fmt.Errorf("a request of more than %d rows", shardMaxRows)
		}
		p.x = append(p.x, make([]float32, int(rows)*embed)...)
		if err := s.c.floats(p.x[at:]); err != nil {
			return 0, err
		}
		for range rows {
			p.moe.choice = append(p.moe.choice, int32(min(expert, maxExperts)))
		}
	}
	s.rows = len(p.moe.choice)
	return int(min(l, maxLayers)), nil
}

// compute replaces the rows by the results of their experts, or returns the reason why it cannot.
func (s *expertServer) compute(layer int) (reason string) {
	n, p := s.n, &s.n.pass
	if layer >= len(n.layers) {
		return fmt.Sprintf("layer %d of %d", layer, len(n.layers))
	}
	p.l, p.index, p.rows = &n.layers[layer], layer, s.rows
	for _, e := range p.moe.choice {
		if int(e) >= n.hyper.Experts || p.l.expert[e].gate.Matrix == nil {
			return fmt.Sprintf("expert %d of layer %d is not at this worker", e, layer)
		}
	}
	if s.rows == 0 {
		return ""
	}
	p.in.Reset(s.rows, n.hyper.Embed)
	p.moe.weight = grow(p.moe.weight, s.rows)
	for t := range s.rows {
		copy(p.in.F32(t), p.xRow(t))
		p.moe.weight[t] = 1
	}
	clear(p.x)
	sample := p.l.sample()
	prepare(&p.in, 0, s.rows, &sample.gate, &sample.up)
	p.group()
	p.experts()
	return ""
}
