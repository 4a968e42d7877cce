package main

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// bandwidth compares the number of bytes of weights that generation reads per second with the rate
// at which the same threads read plain memory.
func bandwidth(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	prompt, text, err := m.code(16, o.generate)
	if err != nil {
		return err
	}
	r := newReader(threads, o.plain)
	defer r.close()
	touched := m.touched()
	var speeds, limits []float64
	for range o.reps {
		limits = append(limits, r.rate(o))
		e, err := m.engine(len(prompt)+len(text)+8, scheduler.EngineConfig{Speculation: scheduler.SpecConfig{Off: true}})
		if err != nil {
			return err
		}
		s, err := say(e, scheduler.Request{Prompt: prompt}, text, nil)
		e.Close()
		if err != nil {
			return err
		}
		speeds = append(speeds, rate(s))
	}
	speed, limit := median(speeds), median(limits)
	row(base(file), threads, touched>>20, speed, speed*float64(touched)/1e9, limit/1e9, percent(int(speed*float64(touched)), int(limit)))
	return nil
}

// touched returns the number of bytes of weights that one token needs: all matrices, except that
// only the active experts count, and only one row of the embedding unless the embedding is also the
// output matrix.
func (m *model) touched() int {
	h := m.net.Hyper()
	_, untied := m.file.Tensor("output.weight")
	sum := 0
	for _, t := range m.file.Tensors() {
		switch {
		case t.Name == "token_embd.weight" && untied:
			sum += len(t.Data) / h.Vocab
		case strings.Contains(t.Name, "_exps."):
			sum += len(t.Data) / h.Experts * h.ActiveExperts
		default:
			sum += len(t.Data)
		}
	}
	return sum
}

// reader reads memory with several threads.
type reader struct {
	arena *tensor.Arena
	parts [][]uint64
	sums  []uint64
	size  int
}

func newReader(threads, size int) *reader {
	r := &reader{arena: tensor.NewArena(size), sums: make([]uint64, threads), size: size}
	data := r.arena.Alloc(size)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&data[0])), len(data)/8)
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
	}
	for i := range threads {
		n := len(words) / threads
		r.parts = append(r.parts, words[i*n:(i+1)*n])
	}
	return r
}

func (r *reader) close() { r.arena.Close() }

// rate reads everything a few times and returns the best rate in bytes per second.
func (r *reader) rate(o options) float64 {
	best := 0.0
	for range 3 {
		begin := o.now()
		var wg sync.WaitGroup
		for i, part := range r.parts {
			wg.Go(func() { r.sums[i] += sumStreams(part) })
		}
		wg.Wait()
		best = max(best, float64(r.size)/o.now().Sub(begin).Seconds())
	}
	return best
}

// sumStreams reads one word of each cache line. It reads four streams at once, which keeps more
// reads in flight than one stream.
func sumStreams(w []uint64) uint64 {
	n := len(w) / 4
	a, b, c, d := w[:n], w[n:2*n], w[2*n:3*n], w[3*n:4*n]
	var s0, s1, s2, s3 uint64
	for i := 0; i < n; i += 8 {
		s0 += a[i]
		s1 += b[i]
		s2 += c[i]
		s3 += d[i]
	}
	return s0 + s1 + s2 + s3
}
