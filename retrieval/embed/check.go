package embed

import (
	"errors"
	"fmt"
)

// maxDim is larger than the number of components of any model's vectors.
const maxDim = 1 << 14

// checkVector returns an error if v is not an embedding of dim components, or of any number of
// components if dim is 0.
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
