package embedded

import (
	_ "embed" // the model card
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

//go:embed MODEL.md
var card string

// Info describes the model: its shape as stated in the files, and its model card in Markdown, which
// covers its purpose, training data, licence and limits.
func Info() string {
	var b strings.Builder
	b.WriteString(card)
	b.WriteString("\n## The files\n\n")
	for _, data := range [][]byte{weights, draft} {
		b.WriteString("- " + describe(data) + "\n")
	}
	return b.String()
}

// describe returns a line with the shape of a GGUF file.
func describe(data []byte) string {
	f, err := gguf.Parse(data)
	if err != nil {
		return err.Error() // the build is damaged; Load returns the same error
	}
	defer f.Close()
	arch, _ := f.String("general.architecture")
	name, _ := f.String("general.name")
	number := func(key string) uint64 {
		n, _ := f.Uint(arch + "." + key)
		return n
	}
	parameters := 0
	for _, t := range f.Tensors() {
		n := 1
		for _, d := range t.Dims {
			n *= d
		}
		parameters += n
	}
	tokens, _ := f.Strings("tokenizer.ggml.tokens")
	text := fmt.Sprintf("%s: %s, %.2f million parameters in %.2f MiB, %d layers of width %d, %d heads, a vocabulary of %d and a context of %d tokens",
		name, arch, float64(parameters)/1e6, float64(len(data))/(1<<20), number("block_count"), number("embedding_length"),
		number("attention.head_count"), len(tokens), number("context_length"))
	if n := number("expert_count"); n > 0 {
		text += fmt.Sprintf(", %d experts of width %d of which %d are active", n, number("expert_feed_forward_length"), number("expert_used_count"))
	}
	return text
}
