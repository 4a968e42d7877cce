package synth

import (
	"io"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// stream describes a tensor to be filled with normally distributed values.
type stream struct {
	t         gguf.Type
	mean, std float64
	cols      int
	values    int
	seed      uint64
}

// poolKey names a pool: the bytes of poolChunks chunks of values.
type poolKey struct {
	t         gguf.Type
	mean, std float64
}

const (
	// chunk is the number of values generated at once: a whole number of blocks of every type.
	chunk = 256
	// poolChunks is the number of chunks in a pool. Larger tensors are assembled from a pool's
	// chunks in random order, which is as fast as copying; with thousands of chunks to choose from
	// for each part of a row, no two rows are the same.
	poolChunks = 8192
)

// fill writes the tensor's bytes.
func (m *maker) fill(w io.Writer, s stream) error {
	r := rand.New(rand.NewPCG(m.Seed, s.seed))
	if s.cols%chunk != 0 || s.values <= poolChunks*chunk {
		return fresh(w, r, s)
	}
	key := poolKey{s.t, s.mean, s.std}
	pool, ok := m.pools[key]
	if !ok {
		b := &sliceWriter{}
		p := s
		p.values = poolChunks * chunk
		if err := fresh(b, r, p); err != nil {
			return err
		}
		pool = b.data
		m.pools[key] = pool
	}
	size := len(pool) / poolChunks
	const batch = 1024
	buf := make([]byte, 0, batch*size)
	for left := s.values / chunk; left > 0; {
		buf = buf[:0]
		for range min(left, batch) {
			k := int(r.Uint32() % poolChunks)
			buf = append(buf, pool[k*size:(k+1)*size]...)
		}
		left -= len(buf) / size
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// fresh generates every value separately, a few rows at a time.
func fresh(w io.Writer, r *rand.Rand, s stream) error {
	n := max(s.cols, chunk*64/s.cols*s.cols)
	x := make([]float32, n)
	size, err := s.t.RowBytes(n)
	if err != nil {
		return err
	}
	buf := make([]byte, size)
	for left := s.values; left > 0; left -= n {
		if left < n {
			n = left
		}
		for i := range n {
			x[i] = float32(s.mean + s.std*r.NormFloat64())
		}
		if size, err = s.t.RowBytes(n); err != nil {
			return err
		}
		if err := quant.Quantize(s.t, buf[:size], x[:n]); err != nil {
			return err
		}
		if _, err := w.Write(buf[:size]); err != nil {
			return err
		}
	}
	return nil
}

type sliceWriter struct{ data []byte }

func (w *sliceWriter) Write(b []byte) (int, error) {
	w.data = append(w.data, b...)
	return len(b), nil
}
