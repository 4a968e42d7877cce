package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// MaxDim is the largest number of components of a vector.
const MaxDim = 1 << 14

// unit writes v, scaled to length 1, to dst.
func unit(dst, v []float32) error {
	sum := 0.0
	for i, x := range v {
		if x-x != 0 {
			return fmt.Errorf("component %d is %v; an embedding is made of finite numbers", i, x)
		}
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return errors.New("all components are zero; a cosine needs a direction")
	}
	inv := 1 / math.Sqrt(sum)
	for i, x := range v {
		dst[i] = float32(float64(x) * inv)
	}
	return nil
}

// strideOf returns the size in bytes of a rounded row of dim components.
func strideOf(dim int) int { return (dim + tensor.RowStep - 1) / tensor.RowStep * tensor.RowStep }

// roundRow rounds v to 8 bits: v[i] ≈ scale·dst[i]. The result slip is an upper bound of the length
// of the rounding error.
func roundRow(dst []byte, v []float32) (scale, slip float32) {
	scale = peak(v) / 127
	lost := 0.0
	for i, x := range v {
		q := math.RoundToEven(float64(x) / float64(scale))
		dst[i] = byte(int8(q))
		d := float64(x) - q*float64(scale)
		lost += d * d
	}
	return scale, float32(math.Sqrt(lost)*1.0001 + 1e-7)
}

func peak(v []float32) float32 {
	top := float32(0)
	for _, x := range v {
		top = max(top, x, -x)
	}
	return top
}

// query is a query vector.
type query struct {
	exact   []float32 // of length 1
	rounded []int16   // exact[i] ≈ scale·rounded[i], padded with zeros to the stride
	scale   float32
	slip    float32 // length of the rounding error
}

func newQuery(v []float32) (*query, error) {
	stride := strideOf(len(v))
	q := &query{exact: make([]float32, len(v)), rounded: make([]int16, stride)}
	if err := unit(q.exact, v); err != nil {
		return nil, err
	}
	// No sum of products with 8-bit numbers may exceed 32 bits.
	limit := float32(min(math.MaxInt16, math.MaxInt32/(128*stride)))
	q.scale = peak(q.exact) / limit
	lost := 0.0
	for i, x := range q.exact {
		r := math.RoundToEven(float64(x) / float64(q.scale))
		q.rounded[i] = int16(r)
		d := float64(x) - r*float64(q.scale)
		lost += d * d
	}
	q.slip = float32(math.Sqrt(lost)*1.0001 + 1e-7)
	return q, nil
}

// margin returns a and b such that the true cosine of a row is within a·slip+b of the rounded one,
// where slip is the slip of the row: |q·v − q̂·v̂| ≤ |q|·|v−v̂| + |q−q̂|·|v̂|, and |v̂| ≤ 1+slip.
// The added constants cover rounding errors of float32 arithmetic.
func (q *query) margin() (a, b float32) { return 1.0001 + q.slip, q.slip + 2e-6 }

// cosine returns the dot product with a row of little-endian float32 numbers.
func (q *query) cosine(row []byte) float32 {
	row = row[:4*len(q.exact)]
	sum := 0.0
	for i, x := range q.exact {
		sum += float64(x) * float64(math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:])))
	}
	return float32(sum)
}
