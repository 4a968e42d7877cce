package embed

import (
	"errors"
	"fmt"
)

// maxDim is more components than any model's vectors have.
const maxDim = 1 << 14

// checkVector refuses what is no embedding of dim components, of any number if dim is 0.
func checkVector(v []float32, dim int) error {
	switch {
	case len(v) == 0 || len(v) > maxDim:
		return fmt.Errorf("it has %d components, want 1 to %d", len(v), maxDim)
	case dim != 0 && len(v) != dim:
		return fmt.Errorf("it has %d components, want %d", len(v), dim)
	}
	zero := true
	for i, x := range v {
		if x-x != 0 {
			return fmt.Errorf("component %d is %v, not a finite number", i, x)
		}
		zero = zero && x == 0
	}
	if zero {
		return errors.New("all its components are zero, so that it has no direction")
	}
	return nil
}
