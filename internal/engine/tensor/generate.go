package tensor

//go:generate go run ./gen -set avx512 -out kernels_avx512_amd64.s -stubs kernels_avx512_amd64.go -pkg tensor
//go:generate go run ./gen -set avx2 -out kernels_avx2_amd64.s -stubs kernels_avx2_amd64.go -pkg tensor
