package tensor

//go:generate go run ./gen/rows -out rows_kernels_amd64.s -stubs rows_kernels_amd64.go -pkg tensor
