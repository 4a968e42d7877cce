package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestOddTypes: a field of an unexpected type, which the answer does not need, does not void it,
// and numbers that are floats or text are read.
//
// Evidence: backends · A field of an unexpected type never voids an answer
func TestOddTypes(t *testing.T) {
	delta := func(s string) string {
		return `{"choices":[{"index":0,"delta":{"content":"Hello"` + s + `},"finish_reason":"stop"}]}`
	}
	for name, event := range map[string]string{
		"float usage":              `{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":3.0,"total_tokens":15.0}}`,
		"usage as text":            `{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"12","completion_tokens":"3"}}`,
		"odd details":              `{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":[],"completion_tokens_details":"none"}}`,
		"usage is a list":          strings.Replace(delta(""), "]}", `],"usage":[]}`, 1),
		"usage is text":            strings.Replace(delta(""), "]}", `],"usage":"n/a"}`, 1),
		"index as text":            strings.Replace(delta(""), `"index":0`, `"index":"0"`, 1),
		"index as float":           strings.Replace(delta(""), `"index":0`, `"index":0.0`, 1),
		"index is null":            strings.Replace(delta(""), `"index":0`, `"index":null`, 1),
		"refusal is false":         delta(`,"refusal":false`),
		"refusal is an object":     delta(`,"refusal":{}`),
		"calls are false":          delta(`,"tool_calls":false`),
		"calls are an object":      delta(`,"tool_calls":{}`),
		"calls are null":           delta(`,"tool_calls":[null]`),
		"function call is text":    delta(`,"function_call":""`),
		"reasoning is false":       delta(`,"reasoning":false,"reasoning_content":{}`),
		"details are text":         delta(`,"reasoning_details":"none"`),
		"role is a number":         delta(`,"role":1`),
		"error is false":           strings.Replace(delta(""), "]}", `],"error":false}`, 1),
		"error is empty":           strings.Replace(delta(""), "]}", `],"error":{}}`, 1),
		"message is a list":        `{"choices":[{"index":0,"delta":{"content":"Hello"},"message":[],"finish_reason":"stop"}]}`,
		"one choice without list":  `{"choices":{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}}`,
		"object is a number":       strings.Replace(delta(""), "]}", `],"object":1,"type":[],"id":{}}`, 1),
		"content is one part":      `{"choices":[{"index":0,"delta":{"content":{"type":"text","text":"Hello"}},"finish_reason":"stop"}]}`,
		"content has bare strings": `{"choices":[{"index":0,"delta":{"content":["Hel",{"text":"lo"},null,7]},"finish_reason":"stop"}]}`,
		"delta is a list":          `{"choices":[{"index":0,"delta":[],"message":{"content":"Hello"},"finish_reason":"stop"}]}`,
		"delta is null":            `{"choices":[{"index":0,"delta":null,"message":{"content":"Hello"},"finish_reason":"stop"}]}`,
		"log probabilities":        strings.Replace(delta(""), `"finish_reason"`, `"logprobs":1,"finish_reason"`, 1),
	} {
		m := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+event+"\n\ndata: [DONE]\n\n")
		})
		resp, err := agent.Generate(t.Context(), m, hello())
		if err != nil || resp.Message.Text() != "Hello" || resp.Finish != agent.FinishStop || len(resp.Message.Calls()) > 0 {
			t.Errorf("%s: %q, %s, %v", name, resp.Message.Text(), resp.Finish, err)
		}
		if strings.Contains(event, `:12.0`) || strings.Contains(event, `"12"`) {
			if u := resp.Usage; u.Input != 12 || u.Output != 3 {
				t.Errorf("%s: usage %+v", name, u)
			}
		}
	}
}

// TestOddResponses: the same for the Responses API.
func TestOddResponses(t *testing.T) {
	text := `data: {"type":"response.output_text.delta","output_index":"0","item_id":7,"delta":"Hello"}` + "\n\n"
	for name, events := range map[string]string{
		"float usage":        text + `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":12.0,"output_tokens":3.0,"input_tokens_details":[]}}}` + "\n\n",
		"usage is a list":    text + `data: {"type":"response.completed","response":{"status":"completed","usage":[]}}` + "\n\n",
		"error is false":     text + `data: {"type":"response.completed","response":{"status":"completed","error":false,"incomplete_details":[]}}` + "\n\n",
		"only the last":      `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}]}}` + "\n\n",
		"null among outputs": `data: {"type":"response.completed","response":{"status":"completed","output":[null,{"type":"message","content":[null,{"text":"Hello"}]}]}}` + "\n\n",
	} {
		m := serve(t, Config{API: Responses}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, events)
		})
		resp, err := agent.Generate(t.Context(), m, hello())
		if err != nil || resp.Message.Text() != "Hello" || resp.Finish != agent.FinishStop {
			t.Errorf("%s: %q, %s, %v", name, resp.Message.Text(), resp.Finish, err)
		}
	}
}

// TestResponsesCalls: calls of the Responses API keep their own arguments, if a server announces
// them with empty ones or puts all of them at one place of the output.
func TestResponsesCalls(t *testing.T) {
	added := func(index, id, more string) string {
		return `data: {"type":"response.output_item.added","output_index":` + index + `,"item":{"type":"function_call","id":"i` + id + `","call_id":"` + id + `","name":"read"` + more + `}}` + "\n\n"
	}
	args := func(index, id, s string) string {
		return `data: {"type":"response.function_call_arguments.delta","output_index":` + index + `,"item_id":"i` + id + `","delta":` + quote(s) + `}` + "\n\n"
	}
	done := func(index, id, s string) string {
		return `data: {"type":"response.output_item.done","output_index":` + index + `,"item":{"type":"function_call","id":"i` + id + `","call_id":"` + id + `","name":"read","arguments":` + quote(s) + `}}` + "\n\n"
	}
	end := `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n"
	for name, tt := range map[string]struct{ events, want string }{
		"as OpenAI streams":     {added("0", "x", "") + args("0", "x", `{"p":1}`) + done("0", "x", `{"p":1}`) + added("1", "y", "") + args("1", "y", `{"p":2}`) + done("1", "y", `{"p":2}`), `x{"p":1} y{"p":2} `},
		"one place, by turns":   {added("0", "x", "") + added("0", "y", "") + args("0", "x", `{"p":1}`) + args("0", "y", `{"p":2}`), `x{"p":1} y{"p":2} `},
		"announced with {}":     {added("0", "x", `,"arguments":"{}"`) + args("0", "x", "{}") + args("0", "x", `{"p":1}`) + done("0", "x", `{"p":1}`), `x{"p":1} `},
		"{} and the rest whole": {added("0", "x", "") + args("0", "x", "{}") + done("0", "x", `{"p":1}`), `x{"p":1} `},
		"only whole":            {done("0", "x", `{"p":1}`) + done("1", "y", `{"p":2}`), `x{"p":1} y{"p":2} `},
		"no arguments":          {added("0", "x", "") + done("0", "x", ""), `x{} `},
	} {
		m := serve(t, Config{API: Responses}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, tt.events+end)
		})
		resp, err := agent.Generate(t.Context(), m, hello())
		got := ""
		for _, c := range resp.Message.Calls() {
			got += c.ID + string(c.Args) + " "
		}
		if err != nil || got != tt.want || resp.Finish != agent.FinishTools {
			t.Errorf("%s: %q, %s, %v, want %q", name, got, resp.Finish, err, tt.want)
		}
	}
}
