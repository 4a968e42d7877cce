package tensor

import (
	"encoding/binary"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// item is an offset in a row and the offset of its first row's value in the panel.
type item = [2]int32

// packPlan describes how a chunk is interleaved: its items by kind.
type packPlan struct {
	words     []item // of 4 bytes
	low, high []item // of 2 bytes: at the start of the row, or elsewhere
	bytes     []item
	flip      uint32 // XORed with the words: turns the signed bytes of Q8_0 into unsigned ones around 128
}

// planOf returns the plan for a chunk of cols columns.
func (l *layout) planOf(cols int) *packPlan {
	var p packPlan
	l.places(cols, func(src, dst, size int) {
		it := item{int32(src), int32(dst)}
		switch {
		case size == 4:
			p.words = append(p.words, it)
		case size == 1:
			p.bytes = append(p.bytes, it)
		case src >= 2: // so that nothing after the end of the row is read
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

// packer interleaves the rows of one matrix.
type packer struct {
	lay      *layout
	isa      isa
	cols     int
	rowBytes int
	full     *packPlan // of chunkCols columns
	tail     *packPlan // of the remaining columns
}

func (m *Matrix) packer() *packer {
	p := &packer{lay: m.lay, isa: m.isa, cols: m.Cols, rowBytes: m.row, full: m.lay.planOf(chunkCols)}
	rest := m.Cols % chunkCols
	if rest > 0 {
		p.tail = m.lay.planOf(rest)
	}
	// The vector functions read 4 bytes at a time, but a chunk of a single 16-bit value has fewer,
	// and they address the rows by 31-bit offsets.
	if rest > 0 && m.lay.panelBytes(rest) < 4*panelRows || m.row > math.MaxInt32/panelRows {
		p.isa = isaGo
	}
	return p
}

// pack interleaves up to 16 rows into a panel; missing rows become zeros.
func (p *packer) pack(panel, rows []byte) {
	n := len(rows) / p.rowBytes
	if n < panelRows {
		clear(panel)
	}
	for done := 0; done < p.cols; done += chunkCols {
		plan := p.full
		if p.cols-done < chunkCols {
			plan = p.tail
		}
		at := done / p.lay.block * p.lay.bytes
		dst, src := panel[at*panelRows:], rows[at:]
		if n < panelRows || !p.isa.pack(plan, dst, src, p.rowBytes) {
			plan.pack(dst, src, p.rowBytes, n)
		}
	}
}

// pack interleaves a chunk of n rows.
func (p *packPlan) pack(dst, src []byte, rowBytes, n int) {
	for _, it := range p.words {
		d := dst[it[1] : it[1]+4*panelRows]
		for r := range n {
			v := binary.LittleEndian.Uint32(src[r*rowBytes+int(it[0]):])
			binary.LittleEndian.PutUint32(d[4*r:], v^p.flip)
		}
	}
	for _, items := range [...][]item{p.low, p.high} {
		for _, it := range items {
			d := dst[it[1] : it[1]+2*panelRows]
			for r := range n {
				v := binary.LittleEndian.Uint16(src[r*rowBytes+int(it[0]):])
				binary.LittleEndian.PutUint16(d[2*r:], v)
			}
		}
	}
	for _, it := range p.bytes {
		for r := range n {
			dst[int(it[1])+r] = src[r*rowBytes+int(it[0])]
		}
	}
}
