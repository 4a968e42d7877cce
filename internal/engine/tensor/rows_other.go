//go:build !amd64 && !arm64

package tensor

// dotRows computes the first rows and says how many: none, there are no kernels here.
func dotRows([]int32, []int8, []int16) int { return 0 }
