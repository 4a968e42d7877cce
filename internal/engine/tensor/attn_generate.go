package tensor

//go:generate go run ./gen/attn -out attn_amd64.s -stubs attn_amd64.go -pkg tensor
