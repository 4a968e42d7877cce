package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// strict is a server that refuses what refuse names and otherwise answers "ok". It counts requests.
func strict(t *testing.T, cfg Config, refuse func(body map[string]any) string) (m *Model, requests *int) {
	t.Helper()
	requests = new(int)
	m = serve(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		*requests++
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Errorf("the body is not JSON: %v", err)
		}
		if why := refuse(body); why != "" {
			status := http.StatusBadRequest
			if strings.Contains(why, "Jinja") {
				status = http.StatusInternalServerError
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error"}}`, quote(why))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if cfg.API == Responses {
			io.WriteString(w, `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}`+"\n\n")
			return
		}
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	return m, requests
}

// steps returns a conversation in which every answer has calls with the given ids.
func steps(ids ...[]string) []agent.Message {
	msgs := []agent.Message{agent.UserText("go")}
	for _, step := range ids {
		answer, results := agent.Message{Role: agent.RoleAssistant}, agent.Message{Role: agent.RoleTool}
		for i, id := range step {
			answer.Parts = append(answer.Parts, agent.ToolCall{ID: id, Name: "read", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
			results.Parts = append(results.Parts, agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: fmt.Sprint("result ", i)}}})
		}
		msgs = append(msgs, answer, results)
	}
	return msgs
}

func list(v any) []map[string]any {
	var out []map[string]any
	items, _ := v.([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// callIDs returns the ids of the calls and of the results of a body of either API.
func callIDs(body map[string]any) (calls, results []string) {
	str := func(v any) string { s, _ := v.(string); return s }
	for _, m := range list(body["messages"]) {
		for _, c := range list(m["tool_calls"]) {
			calls = append(calls, str(c["id"]))
		}
		if m["role"] == "tool" {
			results = append(results, str(m["tool_call_id"]))
		}
	}
	for _, m := range list(body["input"]) {
		switch m["type"] {
		case "function_call":
			calls = append(calls, str(m["call_id"]))
		case "function_call_output":
			results = append(results, str(m["call_id"]))
		}
	}
	return calls, results
}

// TestCallIDs: ids of calls are different, short enough and of the characters that the server
// takes; each result has its call's id; and a longer conversation begins with the bytes of a
// shorter one.
//
// Evidence: backends · Ids of calls from other servers become unique ones that the server takes
func TestCallIDs(t *testing.T) {
	long := strings.Repeat("call_abcdefgh", 30)
	history := steps([]string{"read:0"}, []string{"read:0"}, []string{"a", "a_2", "b"}, []string{"a"}, []string{long}, []string{long}, []string{long + "x"},
		[]string{"", "é", "functions.read:1"}, []string{"toolu_01AbCdEfGh"}, []string{"read_0", "read_0_2"}, []string{strings.Repeat("a", 40), strings.Repeat("a", 40)})
	for _, tt := range []struct {
		cfg     Config
		pattern string
	}{
		{Config{}, `^[A-Za-z0-9_-]{1,40}$`},
		{Config{API: Responses}, `^[A-Za-z0-9_-]{1,64}$`},
		{Config{Model: "mistral-large"}, `^[A-Za-z0-9]{9}$`},
		{Config{Model: "kimi-k2"}, `^[A-Za-z0-9_.:-]{1,40}$`},
	} {
		allowed := regexp.MustCompile(tt.pattern)
		m, _ := strict(t, tt.cfg, func(body map[string]any) string {
			calls, results := callIDs(body)
			if fmt.Sprint(calls) != fmt.Sprint(results) {
				t.Errorf("%v: calls %q, results %q", tt.cfg, calls, results)
			}
			seen := map[string]bool{}
			for _, id := range calls {
				if seen[id] || !allowed.MatchString(id) {
					t.Errorf("%v: id %q, want one like %s that no other call has", tt.cfg, id, tt.pattern)
				}
				seen[id] = true
			}
			return ""
		})
		var before []byte
		for n := 1; n <= len(history); n++ {
			req := &agent.Request{Messages: history[:n]}
			if n%2 == 1 {
				if _, err := agent.Generate(t.Context(), m, req); err != nil {
					t.Fatal(err)
				}
			}
			body := encode(t, m, req)
			if prefix := bytes.TrimSuffix(before, []byte("]}")); !bytes.HasPrefix(body, prefix) {
				t.Errorf("%v: with message %d the body changed before its end", tt.cfg, n)
			}
			before = body
		}
	}
}

// TestLearnedIDs: a server that refuses the length of ids gets shorter ones, at once and from then
// on, and a server that refuses anything else is asked once.
func TestLearnedIDs(t *testing.T) {
	for _, tt := range []struct {
		why string
		fit string
	}{
		{"Tool call id was call_abcdefghijk but must be a-z, A-Z, 0-9, with a length of 9.", `^[a-zA-Z0-9]{9}$`},
		{"Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 24, but got a string with length 31 instead.", `^.{1,24}$`},
	} {
		ok := regexp.MustCompile(tt.fit)
		m, requests := strict(t, Config{}, func(body map[string]any) string {
			calls, _ := callIDs(body)
			for _, id := range calls {
				if !ok.MatchString(id) {
					return tt.why
				}
			}
			return ""
		})
		req := &agent.Request{Messages: steps([]string{"call_abcdefghijklmnopqrstuvwxyz"}, []string{"call_abcdefghijklmnopqrstuvwxyz"})}
		for want := 2; want <= 3; want++ {
			if _, err := agent.Generate(t.Context(), m, req); err != nil || *requests != want {
				t.Errorf("%s: %d requests, want %d: %v", tt.why, *requests, want, err)
			}
		}
	}
	m, requests := strict(t, Config{}, func(map[string]any) string { return "the tool read is not allowed for this key" })
	if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: steps([]string{"x"})}); agent.AsModelError(err).Kind != agent.ErrInvalid || *requests != 1 {
		t.Errorf("%d requests: %v", *requests, err)
	}
}

// takesTurns reports whether user and assistant alternate, as the chat templates of Mistral's and
// Google's open models check it.
func takesTurns(body map[string]any) bool {
	i := 0
	for k, m := range list(body["messages"]) {
		if _, calls := m["tool_calls"]; (k == 0 && m["role"] == "system") || m["role"] == "tool" || calls {
			continue
		}
		if (m["role"] == "user") != (i%2 == 0) {
			return false
		}
		i++
	}
	return true
}

// TestTurns: a server whose template wants turns gets them, whatever a cancelled run, a steering
// message, a reminder or an image in a result left in the history. Nothing that was said is lost.
//
// Evidence: backends · Histories after a cancelled run or a steer fit templates that want turns
func TestTurns(t *testing.T) {
	answer := func(s string) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: s}}}
	}
	image := steps([]string{"c"})
	image[2].Parts[0] = agent.ToolResult{CallID: "c", Parts: []agent.Part{agent.Image{MediaType: "image/png", Data: []byte{1}}}}
	histories := map[string][]agent.Message{
		"cancelled":           {agent.UserText("one"), agent.UserText("two")},
		"cancelled twice":     {agent.UserText("one"), agent.UserText("two"), agent.UserText("three"), answer("a"), agent.UserText("four")},
		"steered":             append(steps([]string{"c"}), agent.UserText("stop")),
		"steered twice":       append(steps([]string{"c"}), agent.UserText("stop"), agent.UserText("now"), answer("a"), agent.UserText("go on")),
		"reminded, then more": append(append(steps([]string{"c"}), agent.UserText("reminder")), steps([]string{"d"})[1:]...),
		"image":               image,
		"image, then steered": append(image[:3:3], agent.UserText("stop")),
		"two answers":         {agent.UserText("one"), answer("a"), answer("b"), agent.UserText("two")},
		"answer first":        {answer("a"), agent.UserText("one")},
		"call first":          steps([]string{"c"})[1:],
		"no result":           {agent.UserText("one"), steps([]string{"c"})[1], agent.UserText("two")},
	}
	for _, why := range []string{
		"Jinja Exception: After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
		"Unexpected role 'user' after role 'tool'",
		"After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
	} {
		for name, msgs := range histories {
			var last string
			m, _ := strict(t, Config{}, func(body map[string]any) string {
				data, _ := json.Marshal(body["messages"])
				last = string(data)
				if !takesTurns(body) {
					return why
				}
				return ""
			})
			if _, err := agent.Generate(t.Context(), m, &agent.Request{System: "s", Messages: msgs}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, msg := range msgs {
				if text := msg.Text(); !strings.Contains(last, text) {
					t.Errorf("%s: %q was not sent: %s", name, text, last)
				}
			}
		}
	}
}

// TestReasoningDemands: reasoning goes back to the server that gave it, a server that demands
// reasoning gets a placeholder where there is none, and one that refuses it gets none.
func TestReasoningDemands(t *testing.T) {
	demands := func(all bool) func(map[string]any) string {
		return func(body map[string]any) string {
			for i, m := range list(body["messages"]) {
				if r, _ := m["reasoning_content"].(string); m["role"] == "assistant" && strings.TrimSpace(r) == "" && (all || m["tool_calls"] != nil) {
					return fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant message at index %d", i)
				}
			}
			return ""
		}
	}
	refuses := func(field, words string) func(map[string]any) string {
		return func(body map[string]any) string {
			for _, m := range list(body["messages"]) {
				if _, ok := m[field]; ok {
					return words
				}
			}
			return ""
		}
	}
	thoughts := steps([]string{"c"})
	thoughts[1].Parts = append([]agent.Part{agent.Thinking{Text: "I should read"}}, thoughts[1].Parts...)
	others := steps([]string{"c"}, []string{"d"})
	others[1].Parts = append([]agent.Part{agent.Thinking{Text: "mine", Signature: "s", Provider: "anthropic"}}, others[1].Parts...)
	others = append(others, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: "done"}}}, agent.UserText("and now?"))
	for _, tt := range []struct {
		name   string
		cfg    Config
		refuse func(map[string]any) string
		msgs   []agent.Message
		asked  int
	}{
		{"known to demand it", Config{Model: "kimi-k2.5"}, demands(false), others, 1},
		{"demands it", Config{}, demands(false), others, 2},
		{"demands it in all messages", Config{}, demands(true), others, 3},
		{"has it", Config{}, demands(false), thoughts, 1},
		{"refuses it", Config{}, refuses("reasoning_content", "property 'messages.1.reasoning_content' is unsupported"), thoughts, 2},
		{"refuses it in other words", Config{}, refuses("reasoning_content", "body.messages.1.assistant.reasoning_content: Extra inputs are not permitted"), thoughts, 2},
		{"refuses it in plain form", Config{}, refuses("reasoning_content", "Unrecognized request argument supplied: reasoning_content"), thoughts, 2},
	} {
		m, requests := strict(t, tt.cfg, tt.refuse)
		for i := range 2 { // the second request is right at once
			if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: tt.msgs}); err != nil || *requests != tt.asked+i {
				t.Errorf("%s: %d requests, want %d: %v", tt.name, *requests, tt.asked+i, err)
			}
		}
	}
	m, requests := strict(t, Config{Reasoning: ReasoningOff}, demands(false))
	if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: others}); err == nil || *requests != 1 {
		t.Errorf("a fixed configuration is not changed: %d requests, %v", *requests, err)
	}
	encrypted := steps([]string{"c"})
	m, requests = strict(t, Config{API: Responses}, func(body map[string]any) string {
		for _, item := range list(body["input"]) {
			if item["type"] == "reasoning" {
				return "The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed."
			}
		}
		return ""
	})
	encrypted[1].Parts = append([]agent.Part{agent.Thinking{Signature: "gAAA"}}, encrypted[1].Parts...)
	if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: encrypted}); err != nil || *requests != 2 {
		t.Errorf("encrypted reasoning of another organisation: %d requests, %v", *requests, err)
	}
}

// TestFieldsOfCalls: fields that a server put on a call go back to it with that call, byte for
// byte, and to no other server.
//
// Evidence: backends · Unknown fields of a call go back to the server that sent them
func TestFieldsOfCalls(t *testing.T) {
	const extra = `"extra_content":{"google":{"thought_signature":"A<B>&c=="}}`
	for _, api := range []API{Chat, Responses} {
		answer := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"f","type":"function",` + extra +
			`,"function":{"name":"read","arguments":"{}","note":7}},{"index":1,"id":"g","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
		if api == Responses {
			answer = `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","id":"fc","status":"completed","call_id":"f","name":"read","arguments":"{}",` + extra + `}]}}` + "\n\n"
		}
		reply := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, answer)
		}
		m, other := serve(t, Config{API: api}, reply), serve(t, Config{API: api}, reply)
		resp, err := agent.Generate(t.Context(), m, hello())
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(resp.Message)
		if err != nil {
			t.Fatal(err)
		}
		var kept agent.Message
		if err := json.Unmarshal(stored, &kept); err != nil {
			t.Fatal(err)
		}
		req := &agent.Request{Messages: []agent.Message{agent.UserText("x"), kept}}
		if body := string(encode(t, m, req)); strings.Count(body, extra) != 1 || (api == Chat && !strings.Contains(body, `"arguments":"{}","note":7}`)) {
			t.Errorf("%s: the fields do not go back: %s", api, body)
		}
		if body := string(encode(t, other, req)); strings.Contains(body, "extra_content") || strings.Contains(body, "note") {
			t.Errorf("%s: the fields go to another server: %s", api, body)
		}
	}
}

// TestUnsignedCalls: Gemini takes a history whose calls another model made with a signature that it
// documents for that.
func TestUnsignedCalls(t *testing.T) {
	m, requests := strict(t, Config{}, func(body map[string]any) string {
		for _, msg := range list(body["messages"]) {
			if calls := list(msg["tool_calls"]); len(calls) > 0 && calls[0]["extra_content"] == nil {
				return "Function call is missing a thought_signature in functionCall parts."
			}
		}
		return ""
	})
	if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: steps([]string{"c", "d"})}); err != nil || *requests != 2 {
		t.Errorf("%d requests: %v", *requests, err)
	}
}
