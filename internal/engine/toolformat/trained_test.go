package toolformat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestGrammarTakesTemplates checks that the grammar accepts the text that actual templates write
// for an assistant's message, since models were trained to write such text.
//
// Evidence: engine · A schema or grammar constrains the answer
func TestGrammarTakesTemplates(t *testing.T) {
	vocab, ids := byteVocab(nil)
	tools := []Tool{
		{Name: "find", Description: "Finds.", Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"What."},"most":{"type":"integer","description":"How many."},"exact":{"type":"boolean","description":"Or not."}},"required":["text"]}`)},
		{Name: "run", Description: "Runs.", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","description":"What."}},"required":["command"]}`)},
	}
	asked := Conversation{Tools: tools, GenerationPrompt: true, Messages: []Message{{Role: "user", Content: "Go."}}}
	calls := []Call{
		{ID: "call00001", Name: "find", Args: json.RawMessage(`{"text": "a \"b\" <c> é", "most": 3, "exact": true}`)},
		{ID: "call00002", Name: "run", Args: json.RawMessage(`{"command": "for i in 1 2; do\n  echo $i\ndone"}`)},
	}
	taken := 0
	for name, src := range readTemplates(t) {
		tmpl, err := NewTemplate(src, "<s>", "</s>")
		if err != nil || !tmpl.Caps().Calls {
			continue
		}
		p, err := tmpl.Prompt(asked)
		if err != nil {
			t.Fatal(err)
		}
		g, err := tmpl.Format().Grammar(tools, Choice{Parallel: true, Prompt: p.Opening})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Message{
			{Role: "assistant", Calls: calls[:1]},
			{Role: "assistant", Content: "Let me see.", Calls: calls[1:]},
			{Role: "assistant", Reasoning: "One\nor two?", Calls: calls[1:]},
			{Role: "assistant", Calls: calls},
			{Role: "assistant", Content: "There are two."},
		} {
			if len(m.Calls) > 1 && !tmpl.Caps().Parallel {
				continue
			}
			said := asked
			said.GenerationPrompt = false
			said.Messages = append([]Message{asked.Messages[0]}, m)
			text, err := tmpl.Render(said)
			text, same := strings.CutPrefix(text, p.Text)
			if err != nil || !same { // the template writes past messages in another form
				continue
			}
			for _, text := range []string{text, strings.ReplaceAll(text, `": `, `":`)} {
				for _, end := range append(tmpl.Stops(), "<|tool_response>", "[e~[", "<|eom|>", "<|end_of_msg|>") {
					text, _, _ = strings.Cut(text, end)
				}
				at, ok := accepts(compiled, ids, strings.TrimRight(text, " \n"))
				if !ok && !strings.Contains(name, "kimi") { // kimi's calls have other ids
					t.Errorf("%s: not accepted at %d: %q ^ %q", name, at, text[:at], text[at:])
				}
				taken++
			}
		}
	}
	least := 50
	if devdata.Sampled(t, devdata.Path(t, "moe-dev/templates")) {
		least = 40 // the number from all four templates
	}
	if taken < least {
		t.Errorf("only %d texts", taken)
	}
}

// TestGrammarTakesVectors checks that grammars accept the texts of models that other projects'
// parsers are tested with.
func TestGrammarTakesVectors(t *testing.T) {
	tier.Normal(t)
	vocab, _ := byteVocab(nil)
	taken := 0
	for _, v := range readVectors(t) {
		f := Lookup(v.Format)
		if v.Partial || f == nil || len(v.Expect.Calls) == 0 || len(v.Tools) == 0 || v.Schema != "" {
			continue
		}
		var tools []Tool
		for _, x := range v.Tools {
			tools = append(tools, Tool{x.Name, x.Description, json.RawMessage(x.Parameters)})
		}
		text := v.Text
		for _, s := range f.Stops {
			text = strings.TrimSuffix(text, s)
		}
		for _, mode := range []Mode{Auto, Required} {
			if mode == Required && v.Expect.Content != nil && *v.Expect.Content != "" {
				continue
			}
			g, err := f.Grammar(tools, Choice{Mode: mode, Parallel: true, Prompt: v.Prompt})
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := g.Compile(vocab, nil)
			if err != nil {
				t.Fatal(err)
			}
			if at, ok := accepts(compiled, nil, strings.TrimRight(text, " \n")); !ok {
				t.Errorf("%s: %s: mode %d: not accepted at %d: %q ^ %q", v.ID, v.Format, mode, at, text[:at], text[at:])
			}
			taken++
		}
	}
	if taken == 0 {
		t.Error("no vector with calls")
	}
}
