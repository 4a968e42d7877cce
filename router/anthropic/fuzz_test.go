package anthropic

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/agent"
)

// FuzzStream feeds arbitrary bytes as an event stream: the reader must not panic, must end with
// Finish or an error and never both, and must not depend on how the bytes arrive.
func FuzzStream(f *testing.F) {
	paths, _ := filepath.Glob("testdata/streams/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "stream" {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var chunks []agent.Chunk
		err := read(t.Context(), bytes.NewReader(stream), "", provider, func(c agent.Chunk, err error) bool {
			if c == nil || err != nil {
				t.Fatalf("yielded %v, %v", c, err)
			}
			chunks = append(chunks, c)
			return true
		})
		finishes := 0
		for _, c := range chunks {
			switch c := c.(type) {
			case agent.Finish:
				finishes++
			case agent.Opaque:
				if !json.Valid(c.Data) {
					t.Errorf("opaque part is not JSON: %s", c.Data)
				}
			}
		}
		if (finishes == 1) == (err != nil) || finishes > 1 {
			t.Errorf("%d finishes and error %v", finishes, err)
		}
		if a, b := transcript(bytes.NewReader(stream), "", t), transcript(iotest.OneByteReader(bytes.NewReader(stream)), "", t); a != b {
			t.Errorf("whole:\n%s\npiecewise:\n%s", a, b)
		}
	})
}

// FuzzEncode builds histories from arbitrary bytes: whatever the parts and their order, the body
// must be JSON that the API takes.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("a t b c r"), "text", `{"a":1}`)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, " \n", "oops\xff")
	f.Add([]byte{9, 9, 9, 10, 10, 17, 17, 2, 10, 1, 9}, "\xff", "[]")
	m := testModel(f)
	f.Fuzz(func(t *testing.T, plan []byte, text, raw string) {
		if len(plan) > 200 {
			return
		}
		body, _, err := m.encode(&agent.Request{System: text, Messages: fuzzMessages(plan, text, raw), Effort: agent.EffortHigh})
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
		if err := checkRequest(body); err != nil {
			t.Fatalf("the API would refuse it: %v\n%s", err, body)
		}
	})
}

func fuzzMessages(plan []byte, text, raw string) []agent.Message {
	roles := []agent.Role{agent.RoleUser, agent.RoleAssistant, agent.RoleTool}
	var msgs []agent.Message
	for _, b := range plan {
		if b%8 == 0 || len(msgs) == 0 {
			msgs = append(msgs, agent.Message{Role: roles[int(b/8)%len(roles)]})
			continue
		}
		last := &msgs[len(msgs)-1]
		id := string(rune('a' + b/8%3))
		last.Parts = append(last.Parts, []agent.Part{
			agent.Text{Text: text},
			agent.Text{Text: "word" + text},
			agent.ToolCall{ID: id, Name: text, Args: json.RawMessage(raw)},
			agent.ToolResult{CallID: id, IsError: b > 100, Parts: []agent.Part{agent.Text{Text: text}}},
			agent.Thinking{Text: text, Signature: raw},
			agent.Opaque{Provider: "anthropic", Data: json.RawMessage(`{"type":"server_tool_use","id":"s","name":"n","input":{}}`)},
			agent.Image{URL: "https://example.com/" + id},
		}[b%8-1])
	}
	return msgs
}
