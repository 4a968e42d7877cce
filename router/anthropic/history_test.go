package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

func encode(t testing.TB, m *Model, req *agent.Request) []byte {
	t.Helper()
	body, _, err := m.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func testModel(t testing.TB, edit ...func(*Config)) *Model {
	t.Helper()
	return newTestModel(t, "http://127.0.0.1:1", edit...)
}

// randomStep returns the messages that one step of an agent adds, including the oddities of models
// and hosts.
func randomStep(r *rand.Rand, step int) []agent.Message {
	texts := []string{"ok", " ", "", "spaces at the end \n", "\n\n", "a <b> & \"c\"\u2028"}
	text := func() agent.Part { return agent.Text{Text: texts[r.IntN(len(texts))]} }
	answer := agent.Message{Role: agent.RoleAssistant}
	if r.IntN(2) == 0 {
		answer.Parts = append(answer.Parts, agent.Thinking{Text: "hm", Signature: fmt.Sprint("sig", step)}, agent.Thinking{Text: "unsigned"})
	}
	for range r.IntN(3) {
		answer.Parts = append(answer.Parts, text())
	}
	results := agent.Message{Role: agent.RoleTool}
	for i := range r.IntN(4) {
		id := fmt.Sprintf("call:%d", i) // the same ids in every step
		args := []string{`{}`, `{"a": 1}`, `oops`, ``, `[1]`}[r.IntN(5)]
		answer.Parts = append(answer.Parts, agent.ToolCall{ID: id, Name: "look", Args: json.RawMessage(args)})
		results.Parts = append(results.Parts, agent.ToolResult{CallID: id, Parts: []agent.Part{text()}, IsError: r.IntN(3) == 0})
	}
	msgs := []agent.Message{answer}
	if len(results.Parts) > 0 {
		msgs = append(msgs, results)
	}
	if len(results.Parts) == 0 || r.IntN(3) == 0 {
		msgs = append(msgs, agent.Message{Role: agent.RoleUser, Parts: []agent.Part{text(), agent.Text{Text: fmt.Sprint("go on ", step)}}})
	}
	return msgs
}

// TestPrefix: apart from cache markers, every request of a conversation begins with the bytes of
// the one before.
//
// Evidence: backends · Each request begins with the bytes of the one before
func TestPrefix(t *testing.T) {
	m := testModel(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		req := &agent.Request{System: "s", Tools: []agent.ToolSpec{{Name: "look"}}, Messages: []agent.Message{agent.UserText("begin")}}
		var before []byte
		for step := range 8 {
			body := encode(t, m, req)
			if err := checkRequest(body); err != nil {
				t.Fatalf("the API would refuse it: %v\n%s", err, body)
			}
			body = bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
			if start := bytes.TrimSuffix(before, []byte("]}]}")); !bytes.HasPrefix(body, start) {
				t.Fatalf("step %d:\n%s\ndoes not begin with\n%s", step, body, start)
			}
			before = body
			req.Messages = append(req.Messages, randomStep(r, step)...)
		}
	}
}

// TestMarkersMeet: what precedes the last marker of one request precedes the second-to-last marker
// of the next. This makes the cache hit exactly.
func TestMarkersMeet(t *testing.T) {
	m := testModel(t)
	req := &agent.Request{Tools: []agent.ToolSpec{{Name: "look"}}, System: "s", Messages: []agent.Message{agent.UserText("begin")}}
	var last string
	for step := range 5 {
		pieces := strings.Split(string(encode(t, m, req)), m.marker())
		markers := len(pieces) - 1
		if want := min(3+step, 4); markers != want {
			t.Fatalf("step %d: %d markers, want %d", step, markers, want)
		}
		if lastButOne := strings.Join(pieces[:markers-1], ""); step > 0 && lastButOne != last {
			t.Errorf("step %d: cached up to\n%s\nmarked\n%s", step, last, lastButOne)
		}
		last = strings.Join(pieces[:markers], "")
		id := fmt.Sprint("id", step)
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: "look"}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: "seen " + id}}}}})
	}
}

func TestOpaqueIsVerbatim(t *testing.T) {
	data := `{"type": "server_tool_use",  "id":"s<1>", "b":1, "a": [ 2 ] }`
	body := encode(t, testModel(t), &agent.Request{Messages: []agent.Message{
		agent.UserText("x"), {Role: agent.RoleAssistant, Parts: []agent.Part{agent.Opaque{Provider: "anthropic", Data: json.RawMessage(data)}}}}})
	if !strings.Contains(string(body), data) {
		t.Errorf("%s\nis not in\n%s", data, body)
	}
}

func TestImages(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n0000")
	tests := []struct {
		name string
		in   agent.Image
		want *image
		err  string
	}{
		{"content", agent.Image{MediaType: "image/webp", Data: []byte("x")}, &image{mediaType: "image/webp", base64: "eA=="}, ""},
		{"type from content", agent.Image{Data: png}, &image{mediaType: "image/png", base64: "iVBORw0KGgowMDAw"}, ""},
		{"common misnomer", agent.Image{MediaType: "image/jpg", Data: []byte("x")}, &image{mediaType: "image/jpeg", base64: "eA=="}, ""},
		{"address", agent.Image{URL: "https://example.com/a"}, &image{url: "https://example.com/a"}, ""},
		{"data address", agent.Image{URL: "data:image/gif;base64,eA=="}, &image{mediaType: "image/gif", base64: "eA=="}, ""},
		{"unknown type", agent.Image{MediaType: "image/bmp", Data: []byte("x")}, nil, "convert it to PNG"},
		{"not base64", agent.Image{URL: "data:image/gif,x"}, nil, "base64"},
		{"empty", agent.Image{}, nil, "neither Data nor URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wireImage(tt.in)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(image{})); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (tt.err != "") || err != nil && (err.Kind != agent.ErrUnsupported || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("err = %v, want %q", err, tt.err)
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	hello := []agent.Message{agent.UserText("hello")}
	tests := []struct {
		name string
		req  agent.Request
		kind agent.ErrorKind
		want string
	}{
		{"no messages", agent.Request{}, agent.ErrInvalid, "no message with content"},
		{"only spaces", agent.Request{Messages: []agent.Message{agent.UserText(" \n")}}, agent.ErrInvalid, "no message with content"},
		{"bad image", agent.Request{Messages: []agent.Message{hello[0], {Role: agent.RoleUser, Parts: []agent.Part{agent.Image{}}}}}, agent.ErrUnsupported, "encode request: message 1: an image"},
		{"unknown named tool", agent.Request{Messages: hello, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "x"}}, agent.ErrInvalid, `"x"`},
		{"call without tools", agent.Request{Messages: hello, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired}}, agent.ErrInvalid, "no tools"},
		{"unknown mode", agent.Request{Messages: hello, ToolChoice: agent.ToolChoice{Mode: "maybe"}}, agent.ErrUnsupported, "maybe"},
		{"bad schema", agent.Request{Messages: hello, Tools: []agent.ToolSpec{{Name: "t", Schema: json.RawMessage(`{`)}}}, agent.ErrUnsupported, `tool "t"`},
		{"bad output schema", agent.Request{Messages: hello, Output: &agent.OutputSchema{Name: "o", Schema: json.RawMessage(`7`)}}, agent.ErrUnsupported, `"o"`},
	}
	m := testModel(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agent.Generate(t.Context(), m, &tt.req)
			me := agent.AsModelError(err)
			if me == nil || me.Kind != tt.kind || me.Provider != "anthropic" || !strings.Contains(me.Error(), tt.want) {
				t.Errorf("err = %v, want kind %q with %q", err, tt.kind, tt.want)
			}
		})
	}
}
