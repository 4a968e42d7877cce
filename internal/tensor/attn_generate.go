package tensor

//go:generate go run ./gen/attn -out attn_avx512_amd64.s -stubs attn_avx512_amd64.go -pkg tensor
