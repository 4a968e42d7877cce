package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// tinyTokenizer returns a tokenizer with the bytes, one merge and the special tokens of prompts and
// answers.
func tinyTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	c := tokenizer.Config{Model: "gpt2", Pre: "gpt-2", Merges: []string{"1 2"}}
	for b := range 256 {
		c.Pieces, c.Kinds = append(c.Pieces, tokenizer.SpellBytes(string([]byte{byte(b)}))), append(c.Kinds, tokenizer.Normal)
	}
	c.Pieces, c.Kinds = append(c.Pieces, "12"), append(c.Kinds, tokenizer.Normal)
	for _, s := range []string{"<|im_start|>", "<|im_end|>"} {
		c.Pieces, c.Kinds = append(c.Pieces, s), append(c.Kinds, tokenizer.Control)
	}
	for _, s := range []string{"<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>",
		"run_tests", "read_function", "edit_line", "line", "text", "number"} {
		c.Pieces, c.Kinds = append(c.Pieces, s), append(c.Kinds, tokenizer.UserDefined)
	}
	tok, err := tokenizer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// shown writes an example's tokens with their weights, one run of equal weight per line.
func shown(tok *tokenizer.Tokenizer, e Example) string {
	var b strings.Builder
	for i, id := range e.Tokens {
		if i == 0 || e.Weights[i] != e.Weights[i-1] {
			fmt.Fprintf(&b, "\n%d", e.Weights[i])
		}
		fmt.Fprintf(&b, " %q", tok.AppendPiece(nil, int32(id)))
	}
	return b.String()[1:]
}

const begin, finish = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"

func TestEncode(t *testing.T) {
	tok := tinyTokenizer(t)
	const frame = `0 "<|im_start|>" "u" "s" "e" "r" "\n" "p" "\n" "<|im_end|>" "\n" "<|im_start|>" "a" "s" "s" "i" "s" "t" "a" "n" "t" "\n"` + "\n"
	for _, c := range []struct {
		name, reply string
		kind        uint8
		want        string
	}{
		{"run", "<tool_call>\n<function=run_tests>\n</function>\n</tool_call><|im_end|>", KindRun, frame +
			`20 "<tool_call>"
5 "\n" "<function="
100 "run_tests"
5 ">" "\n" "</function>" "\n" "</tool_call>"
20 "<|im_end|>"`},
		{"read", "<tool_call>\n<function=read_function>\n<parameter=number>\n12\n</parameter>\n</function>\n</tool_call><|im_end|>", KindRead, frame +
			`20 "<tool_call>"
5 "\n" "<function="
100 "read_function"
5 ">" "\n" "<parameter=" "number" ">" "\n"
100 "12"
20 "\n" "</parameter>"
5 "\n" "</function>" "\n" "</tool_call>"
20 "<|im_end|>"`},
		{"edit", "<tool_call>\n<function=edit_line>\n<parameter=line>\n3\n</parameter>\n<parameter=text>\nx<|im_end|>y\n</parameter>\n</function>\n</tool_call><|im_end|>", KindEdit, frame +
			`20 "<tool_call>"
5 "\n" "<function="
100 "edit_line"
5 ">" "\n" "<parameter=" "line" ">" "\n"
100 "3"
20 "\n" "</parameter>"
5 "\n" "<parameter=" "text" ">" "\n"
100 "x" "<" "|" "i" "m" "_" "e" "n" "d" "|" ">" "y" "\n" "</parameter>"
5 "\n" "</function>" "\n" "</tool_call>"
20 "<|im_end|>"`},
		{"other tool", "<tool_call>\n<function=ls>\n</function>\n</tool_call><|im_end|>", KindCall, frame +
			`20 "<tool_call>"
5 "\n" "<function="
100 "l" "s"
5 ">" "\n" "</function>" "\n" "</tool_call>"
20 "<|im_end|>"`},
		{"done", "Fixed.<|im_end|>", KindText, frame + `100 "F" "i" "x" "e" "d" "." "<|im_end|>"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Encode(tok, begin+"p\n"+finish, c.reply, 0)
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != c.kind {
				t.Errorf("the kind is %d, want %d", e.Kind, c.kind)
			}
			if diff := cmp.Diff(c.want, shown(tok, e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEncodePromptAsEngine checks that a prompt has the same tokens as in an engine, and that the
// names of control tokens in its content stay text.
//
// Evidence: training · A dataset holds the tokens that the engine makes
func TestEncodePromptAsEngine(t *testing.T) {
	tok := tinyTokenizer(t)
	const done = "Fixed.<|im_end|>"
	prompt := begin + "FAIL TestA\n12*\tif x {\n" + finish
	e, err := Encode(tok, prompt, done, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, id := range e.Tokens {
		got = append(got, int32(id))
	}
	if diff := cmp.Diff(tok.Encode(prompt+done, true), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e, err = Encode(tok, begin+"s := \"<|im_end|>\"\n"+finish, done, 10)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := tok.ID("<|im_end|>")
	ends := 0
	for _, id := range e.Tokens {
		if int32(id) == end {
			ends++
		}
	}
	if ends != 2 {
		t.Errorf("the example has %d ends of turns, want those of the frame and the answer", ends)
	}
	if e.Weights[1] != 10 {
		t.Errorf("a prompt's token counts %d, want 10", e.Weights[1])
	}
}

func TestEncodeErrors(t *testing.T) {
	tok := tinyTokenizer(t)
	const prompt = begin + finish
	for _, c := range []struct{ prompt, reply, want string }{
		{"hello", "Fixed.<|im_end|>", "it is not one message"},
		{begin + "hello", "Fixed.<|im_end|>", "it is not one message"},
		{prompt, "Fixed.", "does not end with <|im_end|>"},
		{prompt, "<tool_call>\n<function=f<|im_end|>", "not one whole tool call"},
		{prompt, "<tool_call>\n<function=f>\n</function><|im_end|>", "not one whole tool call"},
		{prompt, "<tool_call>\n<function=f>\n<parameter=a>\nx</function>\n</tool_call><|im_end|>", "is not a parameter"},
	} {
		if _, err := Encode(tok, c.prompt, c.reply, 0); err == nil || !strings.HasPrefix(err.Error(), "dataset: encode ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: the error is %v, want … %s …", c.prompt, c.reply, err, c.want)
		}
	}
	if _, err := EncodePieces(tok, KindText); err == nil {
		t.Error("no pieces make an example")
	}
}
