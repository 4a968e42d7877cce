package tensor

import (
	"bytes"
	"math"
	"testing"
)

// FuzzMul takes any bytes as weights of any type. It checks that each kernel set computes an
// element with the same bits alone and in a batch, and that the rows can be read back.
func FuzzMul(f *testing.F) {
	for i := range allTypes {
		f.Add(uint8(i), uint8(3), uint8(1), []byte{0, 0x3c, 0xff, 0x80, 7})
		f.Add(uint8(i), uint8(17), uint8(9), []byte{0xff, 0x7f})
	}
	f.Fuzz(func(t *testing.T, kind, rows, tokens uint8, seed []byte) {
		typ := allTypes[int(kind)%len(allTypes)]
		r, n, cols := 1+int(rows)%40, 1+int(tokens)%30, 256
		size, err := typ.RowBytes(cols)
		if err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, r*size)
		for i := range raw {
			if len(seed) > 0 {
				raw[i] = seed[i%len(seed)] + byte(i/len(seed)%3)
			}
		}
		for _, with := range isas() {
			m, err := newMatrix(typ, r, cols, nil, with)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetRows(0, raw); err != nil {
				t.Fatal(err)
			}
			back := make([]byte, size)
			for i := range r {
				if m.lay.unpack(back, m.panelAt(i/panelRows), i%panelRows, cols); !bytes.Equal(back, raw[i*size:(i+1)*size]) {
					t.Fatalf("%v: row %d comes back changed", typ, i)
				}
			}
			var b Batch
			b.Reset(n, cols)
			for i := range n {
				for k := range b.F32(i) {
					b.F32(i)[k] = float32((i+1)*(k%13) - 40)
				}
			}
			b.Prepare(m, 0, n)
			all, one := make([]float32, n*r), make([]float32, r)
			m.Mul(all, r, &b, nil, 0, r)
			for i := range n {
				m.Mul(one, r, &b, []int32{int32(i)}, 0, r)
				for k, v := range one {
					w := all[i*r+k]
					if math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
						t.Fatalf("%v, %v: row %d, token %d: %g alone, %g among %d", with, typ, k, i, v, w, n)
					}
				}
			}
		}
	})
}
