package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools"
)

type searchIn struct {
	Query string   `json:"query" jsonschema:"description=words to look for, any of them"`
	In    []string `json:"in,omitempty"`
	Limit int      `json:"limit" jsonschema:"minimum=1,maximum=50,default=10"`
}

func search(_ context.Context, in searchIn) (string, error) {
	return fmt.Sprintf("%q in %v, at most %d", in.Query, in.In, in.Limit), nil
}

func ExampleNew() {
	tool, err := tools.New("search", "Searches the notes.", search,
		tools.WithEffects(agent.ReadOnly("notes")))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(tool.Spec().Schema))
	res, err := tool.Call(context.Background(), agent.ToolCall{Args: json.RawMessage(`{"query":"tea"}`)})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Text())
	// Output:
	// {"properties":{"query":{"type":"string","description":"words to look for, any of them"},"in":{"items":{"type":"string"},"type":["array","null"]},"limit":{"type":"integer","maximum":50,"minimum":1,"default":10}},"additionalProperties":false,"type":"object","required":["query"]}
	// "tea" in [], at most 10
}

// A model that writes Python, gives a number as text and a single value for a list is understood,
// and it is informed of the repairs.
func ExampleRegistry_Call() {
	tool, err := tools.New("search", "Searches the notes.", search)
	if err != nil {
		panic(err)
	}
	reg, err := tools.NewRegistry(tool)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println(reg.Call(ctx, agent.ToolCall{Name: "search", Args: json.RawMessage(`{'query': 'tea', 'in': 'drinks', 'limit': '3'}`)}).Text())
	fmt.Println(reg.Call(ctx, agent.ToolCall{Name: "search", Args: json.RawMessage(`{"query":"tea","limit":500}`)}).Text())
	fmt.Println(reg.Call(ctx, agent.ToolCall{Name: "Search"}).Text())
	// Output:
	// "tea" in [drinks], at most 3
	// [Your arguments were repaired: wrote strings in double quotes; in: put the single value into a list; limit: read the text as a number. Write them in that form next time.]
	// search was not run: limit: want at most 50, got the number 500. Arguments: {query: string, in?: string[]|null, limit?: integer}. Example: {"query":"…"}
	// There is no tool "Search". Did you mean search?
}

func ExampleRepairArgs() {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}}},"required":["path"]}`)
	args, notes, err := tools.RepairArgs(schema, json.RawMessage("```json\n{path: \"a.go\", \"lines\": \"[1, 2]\",}\n```"))
	fmt.Println(string(args), err)
	fmt.Println(strings.Join(notes, "; "))

	_, _, err = tools.RepairArgs(schema, json.RawMessage(`{"path":"a.go","lines":[1,`))
	fmt.Println(err)
	// Output:
	// {"path":"a.go","lines":[1,2]} <nil>
	// removed a comma after the last element; put quotes around keys; removed a Markdown fence; lines: read the text as an array
	// tools: repair arguments: the arguments are not valid JSON: at byte 26: the text ends inside a list: it was cut off (near "{\"path\":\"a.go\",\"lines\":[1,"). Nothing was run; send the whole call again, in smaller pieces if it is long. Arguments: {path: string, lines?: integer[]}. Example: {"path":"…"}
}

// A host shows an edit while the model is still writing it.
func ExamplePreview() {
	p := tools.NewPreview()
	for _, piece := range []string{`{"path":"ma`, `in.go","content":"pack`, `age main\n`, `"}`} {
		if err := p.Feed(piece); err != nil {
			panic(err)
		}
		path, _ := p.Text("path")
		fmt.Printf("%s + %q\n", path, p.Next("content"))
	}
	// Output:
	// ma + ""
	// main.go + "pack"
	// main.go + "age main\n"
	// main.go + ""
}

func ExampleEmitSchema() {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer","minimum":1}},"required":["path"]}`)
	out, strict, err := tools.EmitSchema(tools.OpenAI, schema)
	fmt.Println(string(out), strict, err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string"},"depth":{"type":["integer","null"],"description":"(at least 1)"}},"required":["path","depth"],"additionalProperties":false} true <nil>
}

// The final answer of a run is a Go value. The model forgets a required field and wraps its answer
// in text; it is asked once to correct it.
func ExampleOutput() {
	type Report struct {
		Verdict string   `json:"verdict" jsonschema:"enum=good,enum=bad"`
		Reasons []string `json:"reasons"`
	}
	out, err := tools.Output[Report]()
	if err != nil {
		panic(err)
	}
	model := agenttest.Script(
		agenttest.Text(`{"verdict":"good"}`),
		agenttest.Text("Here it is:\n```json\n{\"verdict\":\"good\",\"reasons\":[\"tests pass\"]}\n```"),
	)
	a, err := agent.New(agent.Config{Model: model, Output: out.Spec()})
	if err != nil {
		panic(err)
	}
	for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "Review the change."}) {
		switch ev := ev.(type) {
		case agent.AskedAgain:
			fmt.Println(ev.Detail)
		case agent.Done:
			report, err := out.Value(ev.Result)
			fmt.Printf("%+v %v\n", report, err)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// the answer does not fit the output schema: reasons: missing (string[]). Form: {verdict: "good"|"bad", reasons: string[]}. Example: {"verdict":"good","reasons":["…"]}
	// {Verdict:good Reasons:[tests pass]} <nil>
}
