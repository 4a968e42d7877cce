package vectors

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Tidy rewrites the file without dead vectors and in large blocks if that is worthwhile: if half of
// the file is dead, or if a quarter of the vectors are in small blocks. Searches continue
// meanwhile. After a crash, either the old file or the new one is there.
func (s *Store) Tidy(ctx context.Context) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.isClosed() {
		return ErrClosed
	}
	if s.memory || s.lock == nil || s.broken != nil || !s.untidy() {
		return nil
	}
	if err := s.rewrite(ctx); err != nil {
		return fmt.Errorf("vectors: tidy %s: %w", s.path, err)
	}
	return nil
}

// untidy reports whether rewriting is worthwhile.
func (s *Store) untidy() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.st
	inSmall := 0
	for _, b := range st.blocks {
		if st.isSmall(b) {
			inSmall += b.n
		}
	}
	return st.rows-st.alive > max(st.alive, 1000) || st.small > 64 && 4*inSmall > st.alive
}

// rewrite copies the live rows to a new file and opens it.
func (s *Store) rewrite(ctx context.Context) error {
	s.mu.RLock()
	h := header{model: s.cfg.Model, dim: s.st.dim}
	s.mu.RUnlock()
	renamed, err := s.replace(func(w io.Writer) error {
		if _, err := w.Write(h.encode()); err != nil {
			return err
		}
		return s.copyRows(ctx, w)
	})
	if err == nil {
		err = s.reload()
	}
	if renamed {
		s.broken = err
	}
	return err
}

// reload loads the file that this process has just written.
func (s *Store) reload() error {
	file := s.file
	s.file = nil
	return errors.Join(file.Close(), s.load())
}

// copyRows writes the live rows in full blocks. Damaged rows are dropped.
func (s *Store) copyRows(ctx context.Context, w io.Writer) error {
	out := newCopier(s.st.dim, min(s.st.rows, rowsOf(s.st.dim)))
	for row := 0; row < s.st.rows; row++ { // rows are added only while s.write is held
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.copyRow(out, row); err != nil {
			return err
		}
		if out.full() {
			if err := out.flush(w); err != nil {
				return err
			}
		}
	}
	return out.flush(w)
}

func (s *Store) copyRow(out *copier, row int) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return guarded(func() error {
		if !s.st.live.has(row) {
			return nil
		}
		b, i := s.st.at(row)
		if b.sound() && b.exactRow(i, s.st.dim) != nil {
			out.add(b, i)
		}
		return nil
	})
}

// copier collects the rows of a block.
type copier struct {
	dim, rows int // dimensions, and the number of rows of a full block
	b         *block
	data      []byte
}

func newCopier(dim, rows int) *copier {
	c := &copier{dim: dim, rows: rows, data: make([]byte, blockSize(kindRows, rows, dim))}
	c.reset()
	return c
}

// reset begins a block. Until flush, its parts are at the positions that they have in a full block.
func (c *copier) reset() {
	c.b = &block{kind: kindRows, n: c.rows}
	c.b.bind(c.data, c.dim)
	c.b.n = 0
}

func (c *copier) full() bool { return c.b.n == c.rows }

// add copies row i of b.
func (c *copier) add(b *block, i int) {
	part := func(dst, src []byte, width int) {
		copy(dst[width*c.b.n:], src[width*i:width*(i+1)])
	}
	part(c.b.keys, b.keys, 16)
	part(c.b.scales, b.scales, 8)
	part(c.b.sums, b.sums, 4)
	part(c.b.rounded, b.rounded, strideOf(c.dim))
	part(c.b.exact, b.exact, 4*c.dim)
	c.b.n++
}

// flush writes the block and starts the next.
func (c *copier) flush(w io.Writer) error {
	n := c.b.n
	if n == 0 {
		return nil
	}
	data := c.data
	if n < c.rows { // the last block: move its parts together
		b := &block{kind: kindRows, n: n}
		data = make([]byte, blockSize(kindRows, n, c.dim))
		b.bind(data, c.dim)
		copy(b.keys, c.b.keys)
		copy(b.scales, c.b.scales)
		copy(b.sums, c.b.sums)
		copy(b.rounded, c.b.rounded)
		copy(b.exact, c.b.exact)
		c.b = b
	}
	c.b.seal(data)
	_, err := w.Write(data)
	c.reset()
	return err
}
