package corpus

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// An encoder makes examples from samples. It is for one goroutine at a time.
type encoder struct {
	tok   *tokenizer.Tokenizer
	sizes []int // bytes of each token
	code  uint8 // weight of code tokens in prompts
}

func newEncoder(tok *tokenizer.Tokenizer, code int) *encoder {
	e := &encoder{tok: tok, sizes: make([]int, tok.Size()), code: uint8(code)}
	for id := range e.sizes {
		e.sizes[id] = len(tok.AppendPiece(nil, int32(id)))
		if e.sizes[id] == 0 {
			e.sizes[id] = len(tok.Piece(int32(id)))
		}
	}
	return e
}

// between is the text between two answers.
const between = "<|im_start|>user\nedited\n<|im_end|>\n<|im_start|>assistant\n"

// encode makes the example of a sample. The answers have full weight, and the unbroken lines of the
// function a small weight.
func (e *encoder) encode(s sample) (dataset.Example, error) {
	out, err := dataset.Encode(e.tok, s.prompt, s.answers[0], 0)
	if err != nil {
		return out, err
	}
	if err := e.weigh(out, s); err != nil {
		return out, err
	}
	for _, a := range s.answers[1:] {
		newline, err := dataset.EncodePieces(e.tok, out.Kind, dataset.Piece{Text: "\n"})
		if err != nil {
			return out, err
		}
		next, err := dataset.Encode(e.tok, between, a, 0)
		if err != nil {
			return out, err
		}
		for _, part := range []dataset.Example{newline, next} {
			out.Tokens = append(out.Tokens, part.Tokens...)
			out.Weights = append(out.Weights, part.Weights...)
		}
	}
	return out, nil
}

// weigh sets the weights of the prompt's tokens in the lines to learn from, except for line numbers
// and marks.
func (e *encoder) weigh(out dataset.Example, s sample) error {
	if s.shown == "" {
		return nil
	}
	start := strings.LastIndex(s.prompt, s.shown)
	if start < 0 {
		return fmt.Errorf("corpus: encode: the function is not in its prompt")
	}
	learn := make([]bool, len(s.prompt))
	at := start
	for _, l := range strings.SplitAfter(s.shown, "\n") {
		if tab := strings.IndexByte(l, '\t'); tab >= 0 && numberOf(l) > 0 && !hides(s.hidden, numberOf(l)) {
			for i := at + tab + 1; i < at+len(l); i++ {
				learn[i] = true
			}
		}
		at += len(l)
	}
	at = 0
	for i, id := range out.Tokens {
		size := e.sizes[id]
		if at+size > len(s.prompt) {
			break
		}
		if all(learn[at : at+size]) {
			out.Weights[i] = e.code
		}
		if at += size; at == len(s.prompt) {
			return nil
		}
	}
	return fmt.Errorf("corpus: encode: the tokens do not spell the prompt")
}

// numberOf returns the number shown with a line of a function.
func numberOf(l string) int {
	n := 0
	for i := 0; i < len(l) && '0' <= l[i] && l[i] <= '9'; i++ {
		n = 10*n + int(l[i]-'0')
	}
	return n
}

func hides(lines []int, n int) bool {
	for _, l := range lines {
		if l == n {
			return true
		}
	}
	return false
}

func all(of []bool) bool {
	for _, b := range of {
		if !b {
			return false
		}
	}
	return true
}
