package tokenizer_test

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// tiny is a vocabulary small enough to read; real vocabularies come from FromGGUF.
func tiny() tokenizer.Config {
	eos := int32(12)
	return tokenizer.Config{
		Model:  "gpt2",
		Pre:    "qwen2",
		Pieces: []string{"h", "i", "Ġ", "y", "o", "u", "hi", "ou", "you", "Ġyou", "Ã", "©", "<|im_end|>"},
		Kinds: []tokenizer.Kind{tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal,
			tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Normal, tokenizer.Control},
		Merges: []string{"h i", "o u", "y ou", "Ġ you"},
		EOS:    &eos,
	}
}

func ExampleNew() {
	t, err := tokenizer.New(tiny())
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := t.Encode("hi you<|im_end|>", true)
	fmt.Println(ids, t.EndOfGeneration())
	fmt.Printf("%q\n", t.Decode(ids))
	// Output:
	// [6 9 12] [12]
	// "hi you<|im_end|>"
}

func ExampleTokenizer_NewDecoder() {
	t, err := tokenizer.New(tiny())
	if err != nil {
		fmt.Println(err)
		return
	}
	d := t.NewDecoder()
	for _, id := range []int32{6, 10, 11, 9, 10} { // é takes two tokens, and the last token is half an é
		fmt.Printf("%q ", d.Write(id))
	}
	fmt.Printf("%q\n", d.Flush())
	// Output: "hi" "" "é" " you" "" "�"
}
