package tensor

//go:generate go run ./gen/gemm -out gemm_kernels_amd64.s -stubs gemm_kernels_amd64.go -pkg tensor
