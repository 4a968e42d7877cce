package embedded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// repairTools are the three tools that the model knows.
func repairTools() []agent.ToolSpec {
	spec := func(name, properties, required string) agent.ToolSpec {
		return agent.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`)}
	}
	return []agent.ToolSpec{
		spec("run_tests", `{}`, `[]`),
		spec("read_function", `{"number":{"type":"integer","minimum":1,"maximum":12}}`, `["number"]`),
		spec("edit_line", `{"line":{"type":"integer","minimum":1,"maximum":99},"text":{"type":"string","pattern":"^[^\\n]*$"}}`, `["line","text"]`),
	}
}

// request returns a request from the middle of a repair, after a function was read. The model then
// chooses an edit or another function.
func request() *agent.Request {
	const report = "FAIL TestReadLine TestReadAll\nreader_test.go:51: ReadLine(\"a\\r\\nb\") = \"a\\r\", want \"a\"\n1 (*Reader).ReadLine\n2 trimEOL"
	const function = "func 2 reader.go\n1*\tfunc trimEOL(s string) string {\n2*\tif strings.HasSuffix(s, \"\\n\") {\n3!\ts = s[:len(s)-2]\n4\t}\n5*\tif strings.HasSuffix(s, \"\\r\") {\n6*\ts = s[:len(s)-1]\n7\t}\n8*\treturn s\n9\t}"
	call := func(id, name, args string) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}}}
	}
	result := func(id, text string) agent.Message {
		return agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: text}}}}}
	}
	return &agent.Request{
		Messages: []agent.Message{agent.UserText("Make the tests pass."),
			call("call00000", "run_tests", `{}`), result("call00000", report),
			call("call00001", "read_function", `{"number":2}`), result("call00001", function)},
		Tools: repairTools(), ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired}, MaxOutput: 100,
		Extra: map[string]json.RawMessage{"beam": json.RawMessage("8"), "parallel_tool_calls": json.RawMessage("false")},
	}
}

func load(t testing.TB, cfg moe.Config) *moe.Model {
	t.Helper()
	m, err := embedded.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestFiles checks that the files keep the package's promises.
//
// Evidence: repair · The embedded files have the promised sizes and metadata
func TestFiles(t *testing.T) {
	if n := len(embedded.Model()); n > 10<<20 {
		t.Errorf("the model has %d bytes, more than 10 MiB", n)
	}
	if n := len(embedded.Draft()); n > 512<<10 {
		t.Errorf("the draft model has %d bytes, more than 512 KiB", n)
	}
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{})
	if m.Format() != "qwen3-coder-xml" || m.Name() != embedded.Name || m.Capabilities().MaxContext != 1024 {
		t.Errorf("format %s, name %s, context %d", m.Format(), m.Name(), m.Capabilities().MaxContext)
	}
	for _, want := range []string{"one-line-repair", "qwen3moe", "qwen3,", "Apache-2.0", "8 experts", "vocabulary of 2048"} {
		if !strings.Contains(embedded.Info(), want) {
			t.Errorf("Info lacks %q:\n%s", want, embedded.Info())
		}
	}
}

// greedy answers the request token by token, over several calls. It returns the text and the
// numbers of drafted and accepted tokens.
func greedy(t testing.TB, m *moe.Model) (text string, drafted, accepted float64) {
	t.Helper()
	req := request()
	req.MaxOutput, req.Extra = 200, nil
	var ids []int32
	trace := &agent.TokenTrace{Token: func(tok agent.Token) { ids = append(ids, tok.ID) }}
	if _, err := agent.Generate(agent.WithTokenTrace(t.Context(), trace), m, req); err != nil {
		t.Fatal(err)
	}
	m.EachMetric(func(name, _ string, _ bool, _ map[string]string, value float64) {
		switch name {
		case "luthier_engine_drafted_total":
			drafted += value
		case "luthier_engine_accepted_total":
			accepted += value
		}
	})
	return m.Detokenize(ids), drafted, accepted
}

// TestSpeculation: answers with and without drafts are the same.
//
// Evidence: repair · Drafts do not change the embedded model's answers
func TestSpeculation(t *testing.T) {
	agenttest.CheckLeaks(t)
	want, _, _ := greedy(t, load(t, moe.Config{NoSpeculation: true}))
	got, drafted, accepted := greedy(t, load(t, moe.Config{}))
	if got != want {
		t.Errorf("with drafts\n%s\nwithout\n%s", got, want)
	}
	t.Logf("%v tokens were drafted, %v accepted", drafted, accepted)
}

// TestEveryCallIsValid samples answers at a high temperature and excludes the likeliest ones one
// after the other: each must be one call of an existing tool, with arguments that match its schema,
// and must not be a call to avoid.
//
// Evidence: repair · Every call of the embedded model is valid
func TestEveryCallIsValid(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{})
	hot := 1.5
	seen := map[string]bool{}
	var avoid []string
	for seed := range int64(24) {
		req := request()
		if seed%2 == 0 {
			delete(req.Extra, "beam")
			req.Temperature, req.Seed = &hot, &seed
		}
		req.Extra["avoid_calls"] = json.RawMessage("[" + strings.Join(avoid, ",") + "]")
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatalf("request %d: %v", seed, err)
		}
		if resp.Finish == agent.FinishLength {
			continue // trained weights do not produce endless text
		}
		calls := resp.Message.Calls()
		if len(calls) != 1 || seen[calls[0].Name+string(calls[0].Args)] {
			t.Fatalf("request %d: calls %v after %q", seed, calls, avoid)
		}
		c := calls[0]
		seen[c.Name+string(c.Args)] = true
		avoid = append(avoid, fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.Name, c.Args))
		if err := valid(c); err != nil {
			t.Errorf("request %d: %s %s: %v", seed, c.Name, c.Args, err)
		}
	}
}

// valid checks a call independently of the code that constrains calls.
func valid(c agent.ToolCall) error {
	var args map[string]any
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return err
	}
	within := func(key string, most float64) bool {
		n, ok := args[key].(float64)
		return ok && n >= 1 && n <= most && n == float64(int(n))
	}
	_, isText := args["text"].(string)
	switch {
	case c.Name == "run_tests" && len(args) == 0:
	case c.Name == "read_function" && len(args) == 1 && within("number", 12):
	case c.Name == "edit_line" && len(args) == 2 && within("line", 99) && isText:
	default:
		return errors.New("it is not a call of these tools")
	}
	return nil
}

// BenchmarkDecode generates one token after another, with drafts and without.
func BenchmarkDecode(b *testing.B) {
	for name, off := range map[string]bool{"speculating": false, "plain": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			m := load(b, moe.Config{NoSpeculation: off})
			req := &agent.Request{Messages: []agent.Message{agent.UserText("go on")}, MaxOutput: 500}
			tokens, drafted, accepted := int64(0), 0.0, 0.0
			for b.Loop() {
				resp, err := agent.Generate(b.Context(), m, req)
				if err != nil {
					b.Fatal(err)
				}
				tokens += resp.Usage.Output
			}
			m.EachMetric(func(name, _ string, _ bool, _ map[string]string, value float64) {
				switch name {
				case "luthier_engine_drafted_total":
					drafted += value
				case "luthier_engine_accepted_total":
					accepted += value
				}
			})
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric(100*accepted/max(drafted, 1), "%accepted")
		})
	}
}

// BenchmarkGroup samples eight answers to one prompt at once, as reinforcement learning does.
func BenchmarkGroup(b *testing.B) {
	b.ReportAllocs()
	m := load(b, moe.Config{})
	var tokens atomic.Int64
	hot := 1.0
	for b.Loop() {
		var group sync.WaitGroup
		for i := range int64(8) {
			group.Go(func() {
				req := request()
				req.Extra = nil
				req.Temperature, req.Seed = &hot, &i
				resp, err := agent.Generate(b.Context(), m, req)
				if err != nil {
					b.Error(err)
					return
				}
				tokens.Add(resp.Usage.Output)
			})
		}
		group.Wait()
	}
	b.ReportMetric(float64(tokens.Load())/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkLoad loads the model and compiles the grammar of its tools.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	req := request()
	req.MaxOutput = 1
	req.Extra = nil
	for b.Loop() {
		m, err := embedded.Load(moe.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := agent.Generate(b.Context(), m, req); err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}

// BenchmarkBeam finds the likeliest whole answer with the prompt in the cache, with no calls to
// avoid and with ten.
func BenchmarkBeam(b *testing.B) {
	var avoid []string
	for i := range 10 {
		avoid = append(avoid, fmt.Sprintf(`{"name":"edit_line","arguments":{"line":%d,"text":"return s[:len(s)-1]"}}`, i+1))
	}
	for name, list := range map[string]string{"alone": "[]", "avoiding ten": "[" + strings.Join(avoid, ",") + "]"} {
		b.Run(name, func(b *testing.B) { benchmarkBeam(b, list) })
	}
}

func benchmarkBeam(b *testing.B, avoid string) {
	b.ReportAllocs()
	m := load(b, moe.Config{})
	req := request()
	req.Extra["avoid_calls"] = json.RawMessage(avoid)
	var tokens int64
	for b.Loop() {
		resp, err := agent.Generate(b.Context(), m, req)
		if err != nil {
			b.Fatal(err)
		}
		tokens += resp.Usage.Output
	}
	b.ReportMetric(float64(tokens)/float64(b.N), "tokens/op")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(tokens), "µs/token")
}
