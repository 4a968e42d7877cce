package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/luthier-dev/luthier/agent"
)

// longHistory is a session of 100 tool calls with results of about 2 kB.
func longHistory() *agent.Request {
	req := &agent.Request{System: "You mend lutes.", Tools: []agent.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`)}},
		Messages: []agent.Message{agent.UserText("Mend it.")}}
	for i := range 100 {
		id := fmt.Sprintf("toolu_%d", i)
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: "I look."}, agent.ToolCall{ID: id, Name: "look", Args: json.RawMessage(`{"what":"<bridge>"}`)}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: strings.Repeat("if a < b {\n\treturn \"x\"\n}\n", 80)}}}}})
	}
	return req
}

func BenchmarkEncode(b *testing.B) {
	m, req := testModel(b), longHistory()
	b.SetBytes(int64(len(encode(b, m, req))))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.encode(req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeSDK marshals the same body from the SDK's types, to compare.
func BenchmarkEncodeSDK(b *testing.B) {
	body := encode(b, testModel(b), longHistory())
	var params sdk.MessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(params); err != nil {
			b.Fatal(err)
		}
	}
}

func textStream(deltas int) []byte {
	w := &fakeWire{}
	var b bytes.Buffer
	b.WriteString(w.begin(`{"type":"text","text":""}`))
	for range deltas {
		b.WriteString(w.delta(0, `{"type":"text_delta","text":"some words "}`))
	}
	b.WriteString(w.end(0) + sseEvent("message_delta", `,"delta":{"stop_reason":"end_turn"}`) + sseEvent("message_stop", ""))
	return b.Bytes()
}

// BenchmarkStream reads a response of 1,000 text deltas.
func BenchmarkStream(b *testing.B) {
	stream := textStream(1000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if err := read(b.Context(), bytes.NewReader(stream), "", provider, func(agent.Chunk, error) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStreamSDK decodes the same events into the SDK's types, to compare.
func BenchmarkStreamSDK(b *testing.B) {
	var events [][]byte
	for line := range bytes.Lines(textStream(1000)) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			events = append(events, bytes.Clone(data))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range events {
			var ev sdk.MessageStreamEventUnion
			if err := json.Unmarshal(data, &ev); err != nil {
				b.Fatal(err)
			}
		}
	}
}
