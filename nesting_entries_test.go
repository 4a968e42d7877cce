package luthier_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/compaction/replay"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/grammar"
	"github.com/luthier-dev/luthier/internal/engine/jinja"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/internal/ignore"
	"github.com/luthier-dev/luthier/internal/shelleffects"
	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/retrieval/treesitter"
	"github.com/luthier-dev/luthier/router/anthropic"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/router/serve"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/edit"
)

// nestingEntries lists the exported entries that read what others wrote.
func nestingEntries() []entry {
	schemas, args := nestingSchemas(), nestingArgs()
	return []entry{
		{"a tool's arguments", schemas, callWithSchema},
		{"tools.RepairArgs", args, func(_ *testing.T, text string) { tools.RepairArgs(nil, json.RawMessage(text)) }},
		{"tools.EmitSchema", schemas, emitSchema},
		{"tools.Preview", args, previewArgs},
		{"grammar.CompileSchema", schemas, compileSchema},
		{"grammar.CompileText", nestingGrammars(), compileText},
		{"grammars of tool calls", schemas, callGrammars},
		{"answers with tool calls", append(nestingTags(), args...), parseAnswer},
		{"a backend's schemas", schemas, sendSchema},
		{"a backend's conversation", args, sendArgs},
		{"a backend's answers", args, readAnswer},
		{"router/serve", args, serveBody},
		{"sessions", args, readSession},
		{"templates", nestingTemplates(), renderTemplate},
		{"templates' values", args, renderValue},
		{"gguf.Parse", nestingModels(), func(_ *testing.T, text string) { gguf.Parse([]byte(text)) }},
		{"patches", nestingPatches(), applyPatch},
		{"edits", nestingTexts(), editText},
		{"commands", nestingCommands(), analyzeCommand},
		{"ignore patterns", nestingGlobs(), matchIgnored},
		{"files", nestingTexts(), readFile},
		{"searches", nestingPatterns(), search},
		{"digests", nestingTexts(), digestText},
		{"reviews", nestingTexts(), reviewText},
	}
}

func callWithSchema(t *testing.T, schema string) {
	tool, err := tools.NewRaw(agent.ToolSpec{Name: "f", Description: "d", Schema: json.RawMessage(schema)},
		func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { return agent.TextResult("ok"), nil })
	if err != nil {
		return
	}
	for _, args := range nestingArgs() {
		tool.Call(t.Context(), agent.ToolCall{ID: "1", Name: "f", Args: json.RawMessage(args.text)})
	}
}

func emitSchema(_ *testing.T, schema string) {
	for _, d := range []tools.Dialect{tools.Plain, tools.OpenAI, tools.Anthropic, tools.Gemini, tools.LlamaCPP} {
		tools.EmitSchema(d, json.RawMessage(schema))
	}
}

func previewArgs(_ *testing.T, text string) {
	p := tools.NewPreview()
	for rest := text; rest != ""; {
		n := min(1000, len(rest))
		p.Feed(rest[:n])
		rest = rest[n:]
	}
	p.Args()
	p.Value()
	p.Text("a", "a")
	p.Keys("a")
}

// byteTokens returns a vocabulary of the 256 bytes.
func byteTokens() *grammar.Vocab {
	return grammar.NewVocab(257, func(id int32) []byte {
		if id == 256 {
			return nil
		}
		return []byte{byte(id)}
	}, []int32{256})
}

// stroll reads text as tokens, until one is not allowed.
func stroll(g *grammar.Grammar, text string) {
	s := g.Start()
	mask := make([]uint64, 5)
	for _, b := range []byte(text[:min(len(text), 20_000)]) {
		next, ok := g.Next(s, int32(b))
		if !ok {
			break
		}
		s = next
	}
	g.Mask(s, mask)
	g.Forced(s, nil)
}

func compileSchema(_ *testing.T, schema string) {
	if g, err := grammar.CompileSchema(json.RawMessage(schema), byteTokens()); err == nil {
		for _, args := range nestingArgs() {
			stroll(g, args.text)
		}
	}
}

func compileText(_ *testing.T, src string) {
	if g, err := grammar.CompileText(src, byteTokens()); err == nil {
		for _, text := range []string{strings.Repeat("a", 3000), strings.Repeat("(", 20_000), nest(5000, "(", "a", ")"), strings.Repeat("ab", 2000)} {
			stroll(g, text)
		}
	}
}

func callGrammars(_ *testing.T, schema string) {
	for _, name := range toolformat.Formats() {
		f := toolformat.Lookup(name)
		f.Grammar([]toolformat.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}, toolformat.Choice{Mode: toolformat.Required})
		f.NewParser([]toolformat.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}, toolformat.ParserOptions{})
	}
}

func parseAnswer(_ *testing.T, args string) {
	for _, name := range toolformat.Formats() {
		f := toolformat.Lookup(name)
		written := f.Write([]toolformat.Call{{ID: "1", Name: "f", Args: json.RawMessage(args)}})
		filled := strings.Replace(f.Write([]toolformat.Call{{ID: "1", Name: "f", Args: json.RawMessage(`{"a":"FILL"}`)}}), "FILL", args, 1)
		for _, text := range []string{written, filled, args} {
			p := f.NewParser([]toolformat.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}}, toolformat.ParserOptions{})
			p.Feed(text)
			p.Close()
		}
	}
}

// backends returns a model of each backend that is answered by respond.
func backends(t *testing.T, respond http.HandlerFunc) []agent.Model {
	srv := httptest.NewServer(respond)
	t.Cleanup(srv.Close)
	var out []agent.Model
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		m, err := openai.New(openai.Config{Model: "m", API: api, BaseURL: srv.URL + "/v1", NoKey: true})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	m, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", BaseURL: srv.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return append(out, m)
}

func refuse(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
}

func sendSchema(t *testing.T, schema string) {
	for _, m := range backends(t, refuse) {
		agent.Generate(t.Context(), m, &agent.Request{
			Messages: []agent.Message{agent.UserText("hi")},
			Tools:    []agent.ToolSpec{{Name: "f", Schema: json.RawMessage(schema)}},
		})
		agent.Generate(t.Context(), m, &agent.Request{
			Messages: []agent.Message{agent.UserText("hi")},
			Output:   &agent.OutputSchema{Name: "o", Schema: json.RawMessage(schema)},
		})
	}
}

func sendArgs(t *testing.T, args string) {
	for _, m := range backends(t, refuse) {
		agent.Generate(t.Context(), m, &agent.Request{Messages: []agent.Message{
			agent.UserText("hi"),
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "1", Name: "f", Args: json.RawMessage(args)}}},
			{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "1", Parts: []agent.Part{agent.Text{Text: args}}}}},
		}})
	}
}

// readAnswer reads answers that hold text as JSON and as text.
func readAnswer(t *testing.T, text string) {
	quoted, _ := json.Marshal(text)
	for _, form := range []string{
		"%s", "data: %s\n\ndata: [DONE]\n\n",
		`data: {"choices":[{"index":0,"delta":{"content":%s}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"reasoning_details":[%s]}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":%s}}]}}]}` + "\n\ndata: [DONE]\n\n",
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":%s}}` + "\n\n",
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%s}}` + "\n\n",
		"event: response.output_item.done\n" + `data: {"type":"response.output_item.done","item":{"type":"reasoning","content":%s}}` + "\n\n",
	} {
		for _, value := range []string{text, string(quoted)} {
			body := fmt.Sprintf(form, value)
			for _, m := range backends(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/event-stream"}[form == "%s"])
				io.WriteString(w, body)
			}) {
				agent.Generate(t.Context(), m, &agent.Request{Messages: []agent.Message{agent.UserText("hi")}})
			}
		}
	}
}

func serveBody(t *testing.T, text string) {
	s, err := serve.New(agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) { yield(nil, errors.New("no")) }
	}), serve.Config{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(text)
	for _, body := range []string{
		text, `{"messages":[{"role":"user","content":` + text + `}]}`, `{"messages":` + text + `}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":` + string(quoted) + `}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":` + text + `}}],"response_format":` + text + `,"extra":` + text + `}`,
	} {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	}
}

func readSession(t *testing.T, text string) {
	quoted, _ := json.Marshal(text)
	for _, value := range []string{text, string(quoted)} {
		for _, form := range []string{"%s\n", `{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"f","args":%s}]}`,
			`{"role":"user","parts":%s}`, `{"role":"assistant","parts":[{"type":"opaque","data":%s}]}`, `{"kind":"message","message":{"role":"tool","parts":[{"type":"tool_result","parts":%s}]}}` + "\n"} {
			line := fmt.Sprintf(form, value)
			for range agent.ReadEntries(strings.NewReader(line)) {
			}
			var m agent.Message
			if json.Unmarshal([]byte(line), &m) == nil {
				json.Marshal(m)
			}
			replay.Read("x", strings.NewReader(line))
		}
	}
	parts := nest(4_000, `{"type":"tool_result","call_id":"1","parts":[`, "", "]}")
	var m agent.Message
	if json.Unmarshal([]byte(`{"role":"tool","parts":[`+parts+`]}`), &m) == nil {
		for _, b := range backends(t, refuse) {
			agent.Generate(t.Context(), b, &agent.Request{Messages: []agent.Message{m}})
		}
	}
}

func renderTemplate(_ *testing.T, src string) {
	if tpl, err := jinja.Parse(src); err == nil {
		tpl.Render(new(jinja.Dict).Set("x", jinja.Str("a")), jinja.Options{})
		tpl.Render(new(jinja.Dict).Set("x", jinja.Str("a")), jinja.Options{AllowMutation: true})
	}
}

func renderValue(_ *testing.T, text string) {
	v, err := jinja.FromJSON([]byte(text))
	if err != nil {
		return
	}
	for _, src := range []string{"{{x}}", "{{x|tojson}}", "{{x|pprint}}", "{{x == x}}{{x < x}}", "{{x|string}}", "{{x|list}}", "{{x|unique|list}}", "{{x|length}}", "{{ {x: 1} }}", "{% for y in x recursive %}{{loop(y)}}{% endfor %}"} {
		if tpl, err := jinja.Parse(src); err == nil {
			tpl.Render(new(jinja.Dict).Set("x", v), jinja.Options{})
		}
	}
}

// nestingModels returns GGUF files whose metadata is an array of an array of….
func nestingModels() []input {
	var out []input
	for _, n := range []int{3, 100, 1_000_000} {
		b := []byte("GGUF")
		b = binary.LittleEndian.AppendUint32(b, 3)
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint64(b, 1)
		b = binary.LittleEndian.AppendUint64(b, 1)
		b = append(b, 'a')
		b = binary.LittleEndian.AppendUint32(b, 9)
		for range n {
			b = binary.LittleEndian.AppendUint32(b, 9)
			b = binary.LittleEndian.AppendUint64(b, 1)
		}
		out = append(out, input{fmt.Sprint(n, " arrays"), string(b)})
	}
	return out
}

func applyPatch(_ *testing.T, patch string) {
	edit.ApplyPatch(func(string) ([]byte, error) { return []byte("a\nb\nc\n"), nil }, patch)
	edit.ApplyPatch(func(string) ([]byte, error) { return []byte(patch), nil }, patch)
}

func editText(_ *testing.T, text string) {
	half := text[:len(text)/2]
	edit.Replace(text, edit.Replacement{Old: half, New: "x"})
	edit.Replace(text, edit.Replacement{Old: "x" + half[:min(len(half), 2000)] + "y", New: "x"})
	edit.Merge(text, "a\n"+text, text+"b\n")
	for _, name := range textNames {
		edit.CheckSyntax(name, "", text)
		edit.CheckSyntax(name, text, half)
	}
}

func analyzeCommand(_ *testing.T, cmd string) {
	shelleffects.Analyze(cmd, shelleffects.Options{Root: "/w"})
}

func matchIgnored(t *testing.T, pattern string) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(pattern+"\n"), 0o644)
	os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755)
	m := ignore.New(dir)
	m.Match("a/b/c/"+strings.Repeat("a", 200), false)
	m.Match(strings.Repeat("a/", 200)+"b", false)
}

// textNames has one name for each reader of files.
var textNames = []string{"a.go", "a.py", "a.js", "a.ts", "a.tsx", "a.c", "a.cpp", "a.rs", "a.java", "a.rb", "a.php", "a.cs", "a.sh", "a.json", "a.yaml", "a.toml", "a.html", "a.css",
	"a.md", "a.kt", "a.swift", "a.scala", "a.lua", "a.sql", "a.proto", "a.ex", "a.hs", "a.ipynb", "package.json", "Makefile", "go.mod", ".github/workflows/a.yml",
	".git/config", "pyproject.toml", ".vscode/tasks.json", ".mcp.json", "Cargo.toml", "AGENTS.md", "setup.cfg", "Dockerfile"}

func readFile(t *testing.T, text string) {
	p := treesitter.New()
	for i, name := range textNames {
		if i%5 != len(text)%5 { // each text in some languages: a parse may take most of a second
			continue
		}
		symbols.Of(name, []byte(text))
		p.Of(name, []byte(text))
	}
	dir := t.TempDir()
	for _, name := range []string{"a.go", "a.py", "a.js", "a.md", "a.json", "a.txt"} {
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	x, err := retrieval.Open(t.Context(), dir, retrieval.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.Search(t.Context(), retrieval.Query{Text: text})
	x.Map(t.Context(), 1000)
	x.Outline(t.Context(), "a.go")
}

func search(t *testing.T, pattern string) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("a", 30)+"\n"), 0o644)
	x, err := retrieval.Open(t.Context(), dir, retrieval.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: pattern}) {
	}
	x.Search(t.Context(), retrieval.Query{Text: pattern})
	grepTool(t, dir, pattern)
}

func digestText(_ *testing.T, text string) {
	compaction.Digest(compaction.ToolOutput{Tool: "bash", Command: "go test", Text: text, ExitCode: 1}, 500)
}

func reviewText(t *testing.T, text string) {
	for _, name := range textNames {
		sandbox.ReviewWrite(t.TempDir(), sandbox.FileWrite{Path: name, After: []byte(text)}, sandbox.FileWrite{Path: name, Before: []byte(text), After: []byte(text + "\n")})
	}
}
