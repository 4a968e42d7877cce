package grammar_test

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/grammar"
)

// bytesVocab returns a vocabulary with one token for each byte, and token 256 for the end.
func bytesVocab() *grammar.Vocab {
	return grammar.NewVocab(257, func(id int32) []byte {
		if id == 256 {
			return nil
		}
		return []byte{byte(id)}
	}, []int32{256})
}

// read reads text and reports where it is refused.
func read(g *grammar.Grammar, text string) string {
	s := g.Start()
	for i := range len(text) {
		next, ok := g.Next(s, int32(text[i]))
		if !ok {
			return fmt.Sprintf("refused at %q", text[i:])
		}
		s = next
	}
	if !g.Accepts(s) {
		return "not complete"
	}
	return "fine"
}

func ExampleCompileSchema() {
	schema := json.RawMessage(`{
		"type": "object",
		"properties": {
			"path": {"type": "string", "pattern": "^[a-z/]+$"},
			"line": {"type": "integer", "minimum": 1}
		},
		"required": ["path"],
		"additionalProperties": false
	}`)
	g, err := grammar.CompileSchema(schema, bytesVocab())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read(g, `{"line": 3, "path": "a/b"}`))
	fmt.Println(read(g, `{"line": 0`))
	fmt.Println(read(g, `{"line": 3}`))
	// Output:
	// fine
	// refused at "0"
	// refused at "}"
}

func ExampleCompileSchema_unsupported() {
	_, err := grammar.CompileSchema(json.RawMessage(`{"properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}`), bytesVocab())
	fmt.Println(err)
	// Output:
	// grammar: compile schema: unsupported keyword "uniqueItems" at /properties/tags: items cannot be compared while they are written: use maxItems 1, or drop it and check the result
}

func ExampleCompileText() {
	g, err := grammar.CompileText(`
		root ::= "call " name "(" (arg (", " arg)*)? ")"
		name ::= [a-z_]+
		arg  ::= /-?\d+/
		      | %json {"enum": ["north", "south"]}
	`, bytesVocab())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read(g, `call walk(12, "north")`))
	fmt.Println(read(g, `call walk("west")`))
	// Output:
	// fine
	// refused at "west\")"
}

func ExampleCompile() {
	args := grammar.JSON(json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`),
		grammar.SchemaOptions{Space: grammar.SpaceUniform})
	g, err := grammar.Compile(grammar.Seq(
		grammar.Lit("<tool_call>\n{\"name\": \"weather\", \"arguments\": "), args, grammar.Lit("}\n</tool_call>"),
	), bytesVocab())
	if err != nil {
		fmt.Println(err)
		return
	}
	forced := g.Forced(g.Start(), nil)
	text := make([]byte, len(forced))
	for i, t := range forced {
		text[i] = byte(t)
	}
	fmt.Printf("%q\n", text)
	// Output:
	// "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\""
}
