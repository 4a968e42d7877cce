package tensor

import "runtime"

// isa is a kernel set.
type isa uint8

const (
	isaGo isa = iota
	isaAVX2
	isaAVX512 // with VNNI
)

func (s isa) String() string {
	if runtime.GOARCH == "arm64" {
		return [...]string{"Go", "NEON", "NEON with SDOT"}[s]
	}
	return [...]string{"Go", "AVX2", "AVX-512"}[s]
}
