package tensor

import "github.com/luthier-dev/luthier/internal/gguf"

// item is a place in a row and the place of its first row's value in the panel.
type item = [2]int32

// packPlan is what a vector kernel needs to interleave a chunk: its items by kind.
type packPlan struct {
	words, low, high, bytes []item
	flip                    uint32
}

// planOf makes the plan for a chunk of cols columns.
func (l *layout) planOf(cols int) *packPlan {
	var p packPlan
	l.places(cols, func(src, dst, size int) {
		it := item{int32(src), int32(dst)}
		switch {
		case size == 4:
			p.words = append(p.words, it)
		case size == 1:
			p.bytes = append(p.bytes, it)
		case src >= 2: // so that nothing is read behind the end of the row
			p.high = append(p.high, it)
		default:
			p.low = append(p.low, it)
		}
	})
	if l.typ == gguf.TypeQ8_0 {
		p.flip = 0x80808080
	}
	return &p
}

// packer interleaves rows of one matrix.
type packer struct {
	lay      *layout
	isa      isa
	cols     int
	rowBytes int
	full     *packPlan // of chunkCols columns
	tail     *packPlan // of what remains
}

func (m *Matrix) packer() *packer {
	p := &packer{lay: m.lay, isa: m.isa, cols: m.Cols, rowBytes: m.row}
	if m.isa.packs() && m.row*panelRows < 1<<30 {
		p.full = m.lay.planOf(chunkCols)
		if rest := m.Cols % chunkCols; rest > 0 {
			p.tail = m.lay.planOf(rest)
		}
	}
	return p
}

// pack interleaves up to 16 rows into a panel.
func (p *packer) pack(panel, rows []byte) {
	rest := p.cols % chunkCols
	// A vector reads 4 bytes at a time, which a chunk of a single 16-bit value does not have.
	if p.full == nil || len(rows) < panelRows*p.rowBytes || rest*p.lay.bytes/p.lay.block < 4 && rest > 0 {
		p.lay.pack(panel, rows, p.rowBytes, p.cols)
		return
	}
	var offsets [panelRows]int32
	for r := range offsets {
		offsets[r] = int32(r * p.rowBytes)
	}
	size := chunkCols / p.lay.block * p.lay.bytes
	n := p.cols / chunkCols
	for c := range n {
		p.isa.pack(p.full, panel[c*size*panelRows:], rows[c*size:], &offsets)
	}
	if rest > 0 {
		p.isa.pack(p.tail, panel[n*size*panelRows:], rows[n*size:], &offsets)
	}
}
