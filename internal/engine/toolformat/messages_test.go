package toolformat

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMessages checks the parsing of whole messages with reasoning, answers and calls, including
// messages begun in the prompt.
func TestMessages(t *testing.T) {
	tools := []Tool{
		{Name: "put", Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"oneOf":[{"type":"string"},{"type":"object"}]},"n":{"type":"integer"}}}`)},
		{Name: "ls"},
	}
	call := func(name, args string) []Call {
		return []Call{{ID: "call00000", Name: name, Args: json.RawMessage(args)}}
	}
	for _, c := range []struct {
		name, format, text string
		o                  ParserOptions
		want               Reply
	}{
		{
			name: "kept reasoning has the marker that the prompt holds", format: "hermes-json",
			o:    ParserOptions{Prompt: "<|im_start|>assistant\n<think>\n", KeepReasoning: true},
			text: "one\n</think>\n\ntwo",
			want: Reply{Content: "<think>\none\n</think>\n\ntwo"},
		},
		{
			name: "not where nothing was thought", format: "kimi-k3",
			o:    ParserOptions{Prompt: `<|open|>message role="assistant"<|sep|><|open|>think<|sep|>`, KeepReasoning: true},
			text: "<|open|>response<|sep|>two<|close|>response<|sep|>",
			want: Reply{Content: "two"},
		},
		{
			name: "an opening of words is reasoning", format: "apriel",
			o:    ParserOptions{Prompt: "<|begin_assistant|>\nHere are my reasoning steps:\n"},
			text: "one\n[BEGIN FINAL RESPONSE]\ntwo",
			want: Reply{Reasoning: "Here are my reasoning steps:\none", Content: "two"},
		},
		{
			name: "the line break before a call is no thought", format: "qwen3-coder-xml",
			o:    ParserOptions{Prompt: "<|im_start|>assistant\n<think>\n"},
			text: "one\n<tool_call>\n<function=ls>\n</function>\n</tool_call>",
			want: Reply{Reasoning: "one", Calls: call("ls", `{}`)},
		},
		{
			name: "a call in closed reasoning is thought about", format: "mistral-args",
			text: `[THINK]If [TOOL_CALLS]ls[ARGS]{} then[/THINK][TOOL_CALLS]put[ARGS]{"n": 2}`,
			want: Reply{Reasoning: "If [TOOL_CALLS]ls[ARGS]{} then", Calls: call("put", `{"n": 2}`)},
		},
		{
			name: "a call in reasoning that never closes is one", format: "mistral-args",
			text: `[THINK]So: [TOOL_CALLS]put[ARGS]{"n": 2}`,
			want: Reply{Reasoning: "So: ", Calls: call("put", `{"n": 2}`)},
		},
		{
			name: "calls without their section", format: "kimi-k2",
			text: `<think>hm<|tool_call_begin|>functions.put:0<|tool_call_argument_begin|>{"n": 1}`,
			want: Reply{Reasoning: "hm", Calls: []Call{{ID: "functions.put:0", Name: "put", Args: json.RawMessage(`{"n": 1}`)}}},
		},
		{
			name: "reasoning addressed to itself", format: "muse-glimmer", o: ParserOptions{Prompt: "<|start|>assistant"},
			text: " to=self<|message|>a <atem:function_calls> b<|eom|><|start|>assistant to=user<|message|>two<|eot|>",
			want: Reply{Reasoning: "a <atem:function_calls> b", Content: "two"},
		},
		{
			name: "code for a machine that is not there", format: "harmony", o: ParserOptions{Prompt: "<|start|>assistant"},
			text: "<|channel|>commentary to=python <|constrain|>code<|message|>1+1<|end|><|start|>assistant<|channel|>final<|message|>two",
			want: Reply{Content: "two", Trailing: "<|channel|>commentary to=python <|constrain|>code<|message|>1+1"},
		},
		{
			name: "markers of reasoning that stand alone", format: "gemma4",
			text: "<|channel><|channel>thought\n<channel|>two<channel|>",
			want: Reply{Content: "two"},
		},
		{
			name: "a call after an older header", format: "gigachat",
			text: "two<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"put\", \"arguments\": {\"n\": 1}}",
			want: Reply{Content: "two", Calls: call("put", `{"n": 1}`)},
		},
		{
			name: "an action on a line of its own", format: "cohere-action",
			text: "Action:\n```json\n[{\"tool_name\": \"put\", \"parameters\": {\"n\": 1}}]\n```",
			want: Reply{Calls: call("put", `{"n": 1}`)},
		},
		{
			name: "a document in a fence", format: "hermes-json", o: ParserOptions{JSON: true},
			text: "```json\n{\"s\": \"```\"}\n```\n",
			want: Reply{Content: "{\"s\": \"```\"}"},
		},
		{
			name: "arguments that are no object", format: "hermes-json",
			text: `<tool_call>{"name": "put", "arguments": n is 1}</tool_call>`,
			want: Reply{Calls: []Call{{
				ID: "call00000", Name: "put", Problem: Malformed,
				Raw: `<tool_call>{"name": "put", "arguments": n is 1}`,
			}}},
		},
		{
			name: "a call that lacks its end does not hide the next", format: "kimi-k2",
			text: `<|tool_calls_section_begin|><|tool_call_begin|>functions.put:0<|tool_call_argument_begin|>{"n": 1<|tool_call_end|><|tool_call_begin|>functions.put:1<|tool_call_argument_begin|>{"at": "<|tool_call_end|>"}<|tool_call_end|><|tool_calls_section_end|>`,
			want: Reply{Calls: []Call{
				{
					ID: "functions.put:0", Name: "put", Args: json.RawMessage(`{"n": 1`), Problem: Malformed,
					Raw: `<|tool_calls_section_begin|><|tool_call_begin|>functions.put:0<|tool_call_argument_begin|>{"n": 1`,
				},
				{ID: "functions.put:1", Name: "put", Args: json.RawMessage(`{"at": "<|tool_call_end|>"}`)},
			}},
		},
		{
			name: "calls without the word function", format: "step3",
			text: `<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name="ls"></steptml:invoke><｜tool_call_end｜><｜tool_sep｜><｜tool_call_begin｜><steptml:invoke name="ls"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>`,
			want: Reply{Calls: []Call{{ID: "call00000", Name: "ls", Args: json.RawMessage(`{}`)}, {ID: "call00001", Name: "ls", Args: json.RawMessage(`{}`)}}},
		},
		{
			name: "tags where a string may stand", format: "minimax-m3",
			text: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"put\">]<]minimax[>[<at>]<]minimax[>[<b>1]<]minimax[>[</b>]<]minimax[>[</at>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
			want: Reply{Calls: call("put", `{"at": {"b": 1}}`)}, // a string never has the model's own markers
		},
		{
			name: "text after Python calls", format: "pythonic",
			text: "So [ls()] lists.",
			want: Reply{Content: "So  lists.", Calls: call("ls", `{}`)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{0, 1, 3} {
				got := collect(Lookup(c.format).NewParser(tools, c.o), c.text, size)
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, d)
				}
			}
		})
	}
}
