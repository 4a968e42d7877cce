package repair_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/grammar"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

func tool(name, properties, required string) toolformat.Tool {
	return toolformat.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`)}
}

// TestForcedTextIsSpelledAsLearnt feeds the embedded model's training answers to the grammar of its
// tools. The grammar must allow each token, and must tokenize the text that it forces as in
// training, so that the model never has to continue from a tokenization that it has not seen.
//
// Evidence: repair · The model reads the same text in training and in use
func TestForcedTextIsSpelledAsLearnt(t *testing.T) {
	tok, c := answers(t, []toolformat.Tool{
		tool(repair.ToolRun, `{}`, `[]`),
		tool(repair.ToolRead, `{"number":{"type":"integer","minimum":1,"maximum":12}}`, `["number"]`),
		tool(repair.ToolEdit, `{"line":{"type":"integer","minimum":1,"maximum":99},"text":{"type":"string","pattern":"^[^\\n]*$"}}`, `["line","text"]`),
	})
	for _, answer := range []string{
		repair.AnswerRun(), repair.AnswerRead(1), repair.AnswerRead(12), repair.AnswerEdit(3, "s = s[:len(s)-1]"), repair.AnswerEdit(42, "}"),
		repair.AnswerEdit(7, `fmt.Println("<a>", x < y, x > y, '\n')`), repair.AnswerEdit(1, "func (r *Reader) read() {"), repair.AnswerEdit(9, "// comment"),
		repair.AnswerEdit(99, `return a["é世界"] </ b`),
	} {
		tokens := tok.Encode(answer, true)
		var decided []int32
		state, forced := c.Start(), 0
		for i := 0; i < len(tokens); {
			if run := c.Forced(state, nil); len(run) > 0 {
				if !slices.Equal(run, tokens[i:min(len(tokens), i+len(run))]) {
					t.Errorf("%q: after token %d %q is forced, learnt was %q", answer, i, pieces(tok, run), pieces(tok, tokens[i:]))
					break
				}
				forced += len(run)
				for _, id := range run {
					state, _ = c.Next(state, id)
				}
				i += len(run)
				continue
			}
			next, ok := c.Next(state, tokens[i])
			if !ok {
				t.Errorf("%q: token %d %q is refused", answer, i, pieces(tok, tokens[i:i+1]))
				break
			}
			decided = append(decided, tokens[i])
			state, i = next, i+1
		}
		t.Logf("%q: %d tokens, %d forced, decided %q", answer, len(tokens), forced, pieces(tok, decided))
	}
}

// answers returns the embedded model's tokenizer and the grammar with which package moe constrains
// its answers: one call of a tool, in the layout of its training.
func answers(t *testing.T, tools []toolformat.Tool) (*tokenizer.Tokenizer, *grammar.Grammar) {
	t.Helper()
	f, err := gguf.Parse(embedded.Model())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	src, _ := f.String("tokenizer.chat_template")
	tm, err := toolformat.NewTemplate(src, "", "<|im_end|>")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tm.Prompt(toolformat.Conversation{Tools: tools, GenerationPrompt: true, Messages: []toolformat.Message{{Role: "user", Content: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := tm.Format().Grammar(tools, toolformat.Choice{Mode: toolformat.Required, Prompt: p.Opening, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	controls := map[string]int32{}
	vocab := grammar.NewVocab(tok.Size(), func(id int32) []byte {
		switch tok.Kind(id) {
		case tokenizer.Control:
			controls[string(tok.AppendPiece(nil, id))] = id
			return nil
		case tokenizer.Unused, tokenizer.Unknown:
			return nil
		}
		return tok.AppendPiece(nil, id)
	}, tok.EndOfGeneration())
	vocab.SetTokenizer(func(text []byte) []int32 { return tok.Encode(string(text), false) })
	c, err := g.Compile(vocab, controls)
	if err != nil {
		t.Fatal(err)
	}
	return tok, c
}

func pieces(tok *tokenizer.Tokenizer, tokens []int32) (out []string) {
	for _, id := range tokens {
		out = append(out, string(tok.AppendPiece(nil, id)))
	}
	return out
}
