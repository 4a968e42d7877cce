package dataset

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// The weights of an answer's tokens in the loss, in hundredths.
const (
	Decision uint8 = 100 // a tool, a number, every token of a text and the tokens that end it
	Obvious  uint8 = 20  // a choice with nothing to learn: that an answer starts with a call and ends after it, that a number ends
	Forced   uint8 = 5   // the only token that the grammar of tool calls permits
)

// A Piece is a stretch of text whose tokens have the same weight. Pieces are tokenized separately,
// so that no token spans two of them.
type Piece struct {
	Text    string
	Special bool  // whether the names of control tokens in Text become control tokens; otherwise they are ordinary text
	Weight  uint8 // weight of each token, in hundredths
}

// EncodePieces makes an example from pieces. It fails if there are no tokens, or if the vocabulary
// is too large.
func EncodePieces(tok *tokenizer.Tokenizer, kind uint8, pieces ...Piece) (Example, error) {
	if tok.Size() > maxVocab {
		return Example{}, fmt.Errorf("dataset: encode: the vocabulary has %d tokens, more than %d", tok.Size(), maxVocab)
	}
	e := Example{Kind: kind}
	var ids []int32
	for _, p := range pieces {
		ids = tok.Append(ids[:0], p.Text, p.Special)
		for _, id := range ids {
			e.Tokens = append(e.Tokens, uint16(id))
			e.Weights = append(e.Weights, p.Weight)
		}
	}
	if len(e.Tokens) == 0 {
		return Example{}, fmt.Errorf("dataset: encode: there are no tokens")
	}
	return e, nil
}

// The frame of a prompt and an answer: one user message in ChatML.
const (
	userStart = "<|im_start|>"
	userName  = "user\n"
	turnEnd   = "<|im_end|>"
	answer    = "\n<|im_start|>assistant\n"
)

// Encode makes an example from a prompt and its answer:
//
//	<|im_start|>user\n … <|im_end|>\n<|im_start|>assistant\n
//	<tool_call>\n<function=edit_line>\n … </function>\n</tool_call><|im_end|>
//
// The names of control tokens become control tokens in the frame, but stay text in the content,
// that is, in code or in the output of tests. Decisions in the answer have weight 100, text that
// the grammar of tool calls forces has weight Forced, and the prompt's tokens have weight
// promptWeight. The tool's name determines the example's kind.
func Encode(tok *tokenizer.Tokenizer, prompt, reply string, promptWeight uint8) (Example, error) {
	content, ok := strings.CutPrefix(prompt, userStart+userName)
	if ok {
		content, ok = strings.CutSuffix(content, turnEnd+answer)
	}
	if !ok {
		return Example{}, fmt.Errorf("dataset: encode prompt: it is not one message %q … %q", userStart+userName, turnEnd+answer)
	}
	kind, pieces, err := replyPieces(reply)
	if err != nil {
		return Example{}, err
	}
	frame := []Piece{
		{Text: userStart, Special: true},
		{Text: userName + content, Weight: promptWeight},
		{Text: turnEnd + answer, Special: true},
	}
	return EncodePieces(tok, kind, append(frame, pieces...)...)
}

// The tool calls of an answer: <tool_call>\n<function=NAME>\n, for each parameter
// <parameter=NAME>\nVALUE\n</parameter>\n, </function>\n</tool_call>.
const (
	callStart  = "<tool_call>"
	nameStart  = "\n<function="
	nameEnd    = ">\n"
	paramStart = "<parameter="
	paramEnd   = "</parameter>"
	callEnd    = "</function>\n</tool_call>"
)

// replyPieces splits an answer into decided and forced pieces.
func replyPieces(reply string) (uint8, []Piece, error) {
	body, ok := strings.CutSuffix(reply, turnEnd)
	if !ok {
		return 0, nil, fmt.Errorf("dataset: encode answer: it does not end with %s: %.80q", turnEnd, reply)
	}
	end := Piece{Text: turnEnd, Special: true, Weight: Obvious}
	rest, ok := strings.CutPrefix(body, callStart+nameStart)
	if !ok {
		end.Weight = Decision
		return KindText, []Piece{{Text: body, Weight: Decision}, end}, nil
	}
	name, rest, ok := strings.Cut(rest, nameEnd)
	if ok {
		rest, ok = strings.CutSuffix(rest, callEnd)
	}
	if !ok {
		return 0, nil, fmt.Errorf("dataset: encode answer: it is not one whole tool call: %.80q", reply)
	}
	pieces := []Piece{
		{Text: callStart, Weight: Obvious},
		{Text: nameStart, Weight: Forced},
		{Text: name, Weight: Decision},
		{Text: nameEnd, Weight: Forced},
	}
	pieces, err := parameters(pieces, rest)
	if err != nil {
		return 0, nil, fmt.Errorf("dataset: encode answer: %w: %.80q", err, reply)
	}
	return kindOf(name), append(pieces, Piece{Text: callEnd, Weight: Forced}, end), nil
}

// parameters appends the pieces of a call's parameters.
func parameters(pieces []Piece, rest string) ([]Piece, error) {
	for rest != "" {
		var name, value string
		after, ok := strings.CutPrefix(rest, paramStart)
		if ok {
			name, after, ok = strings.Cut(after, nameEnd)
		}
		if ok {
			value, rest, ok = strings.Cut(after, "\n"+paramEnd+"\n")
		}
		if !ok {
			return nil, fmt.Errorf("%.40q is not a parameter", rest)
		}
		ends := Decision
		if isNumber(value) {
			ends = Obvious
		}
		pieces = append(pieces,
			Piece{Text: paramStart + name + nameEnd, Weight: Forced},
			Piece{Text: value, Weight: Decision},
			Piece{Text: "\n" + paramEnd, Weight: ends},
			Piece{Text: "\n", Weight: Forced})
	}
	return pieces, nil
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func kindOf(name string) uint8 {
	switch name {
	case "run_tests":
		return KindRun
	case "read_function":
		return KindRead
	case "edit_line":
		return KindEdit
	}
	return KindCall
}
