package quant_test

import (
	"fmt"
	"log"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

func ExampleQuantize() {
	row := make([]float32, 32)
	for i := range row {
		row[i] = float32(i) - 16
	}
	n, err := gguf.TypeQ4_0.RowBytes(len(row))
	if err != nil {
		log.Fatal(err)
	}
	stored := make([]byte, n)
	if err := quant.Quantize(gguf.TypeQ4_0, stored, row); err != nil {
		log.Fatal(err)
	}
	back := make([]float32, len(row))
	if err := quant.Dequantize(gguf.TypeQ4_0, back, stored); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %.1f %.1f %.1f\n", n, back[0], back[16], back[31])
	// Output: 18 bytes: -16.7 0.0 14.6
}
