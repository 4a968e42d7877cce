package toolformat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParser checks the behaviour that all formats have in common for mistakes and truncated texts.
func TestParser(t *testing.T) {
	tools := []Tool{
		{Name: "write", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"mode":{"type":"integer"},"lines":{"type":"array","items":{"type":"string"}}}}`)},
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
			name: "a marker inside a JSON string is text", format: "hermes-json",
			text: `<tool_call>{"name": "write", "arguments": {"text": "a</tool_call>b"}}</tool_call>`,
			want: Reply{Calls: call("write", `{"text": "a</tool_call>b"}`)},
		},
		{
			name: "a closing tag inside a value is text", format: "qwen3-coder-xml",
			text: "<tool_call>\n<function=write>\n<parameter=text>\n<a></parameter></a>\n</parameter>\n</function>\n</tool_call>",
			want: Reply{Calls: call("write", `{"text": "<a></parameter></a>"}`)},
		},
		{
			name: "a call without its outer tag", format: "qwen3-coder-xml",
			text: "So:\n<function=write>\n<parameter=mode>\n7\n</parameter>\n</function>",
			want: Reply{Content: "So:\n", Calls: call("write", `{"mode": 7}`)},
		},
		{
			name: "such a call to no known function is text", format: "qwen3-coder-xml",
			text: "Write <function=name> to call.",
			want: Reply{Content: "Write <function=name> to call."},
		},
		{
			name: "an unknown function is reported", format: "hermes-json",
			text: `<tool_call>{"name": "rm", "arguments": {}}</tool_call>`,
			want: Reply{Calls: call("rm", `{}`)},
		},
		{
			name: "arguments before the name", format: "hermes-json",
			text: `<tool_call>{"arguments": {"mode": 1}, "name": "write"}</tool_call>`,
			want: Reply{Calls: call("write", `{"mode": 1}`)},
		},
		{
			name: "arguments in a string, a nested function and an id at the end", format: "hermes-json",
			text: `<tool_call>{"type": "function", "function": {"name": "write", "arguments": "{\"mode\": 1}"}, "id": "x1"}</tool_call>`,
			want: Reply{Calls: []Call{{ID: "x1", Name: "write", Args: json.RawMessage(`{"mode": 1}`)}}},
		},
		{
			name: "thinking after an opening that is not known", format: "hermes-json", o: ParserOptions{Prompt: "<|robot|>\n"},
			text: "<think>\nhm\n</think>\n\nYes.",
			want: Reply{Reasoning: "hm", Content: "Yes."},
		},
		{
			name: "the prompt has closed the thinking", format: "hermes-json", o: ParserOptions{Prompt: "<|robot|>\n<think>\n\n</think>\n\n"},
			text: "Yes.",
			want: Reply{Content: "Yes."},
		},
		{
			name: "an answer that is addressed", format: "functionary-32", o: ParserOptions{Prompt: "<|start_header_id|>assistant<|end_header_id|>\n\n>>>"},
			text: "all\nYes.\n>>> x\n>>>write\n{\"mode\": 1}",
			want: Reply{Content: "Yes.\n>>> x\n", Calls: call("write", `{"mode": 1}`)},
		},
		{
			name: "a colon in a name", format: "kimi-k2",
			text: `<|tool_calls_section_begin|><|tool_call_begin|>functions.a:b:12<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`,
			want: Reply{Calls: []Call{{ID: "functions.a:b:12", Name: "a:b", Args: json.RawMessage(`{}`)}}},
		},
		{
			name: "members that say nothing", format: "hermes-json",
			text: `<tool_call>{"x": {"a": [1, "}"]}, "y": -1, "z": "\"}", "name": "ls", "arguments": null}</tool_call>`,
			want: Reply{Calls: call("ls", `{}`)},
		},
		{
			name: "the object syntax by mistake", format: "glm4-xml",
			text: `<tool_call>{"name": "ls", "arguments": {}}</tool_call>`,
			want: Reply{Calls: call("ls", `{}`)},
		},
		{
			name: "a cut-off call keeps its text", format: "mistral-args",
			text: `Well.[TOOL_CALLS]write[ARGS]{"text": "ab`,
			want: Reply{Content: "Well.", Calls: []Call{{
				ID: "call00000", Name: "write", Args: json.RawMessage(`{"text": "ab`),
				Problem: Truncated, Raw: `[TOOL_CALLS]write[ARGS]{"text": "ab`,
			}}},
		},
		{
			name: "a call that cannot be read does not hide the next", format: "hermes-json",
			text: "<tool_call>{\"name\": \"write\", \"arguments\": {no}}</tool_call>\n<tool_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>",
			want: Reply{Calls: []Call{
				{ID: "call00000", Name: "write", Args: json.RawMessage(`{no}`), Problem: Malformed, Raw: `<tool_call>{"name": "write", "arguments": {no}}`},
				{ID: "call00001", Name: "ls", Args: json.RawMessage(`{}`)},
			}},
		},
		{
			name: "a marker with no call is text", format: "hermes-json",
			text: "The <tool_call> tag opens a call.",
			want: Reply{Content: "The <tool_call> tag opens a call."},
		},
		{
			name: "thinking that never ends", format: "hermes-json", o: ParserOptions{Prompt: "<|im_start|>assistant\n<think>\n"},
			text: "Well, <tool_call> is",
			want: Reply{Reasoning: "Well, <tool_call> is"},
		},
		{
			name: "text after the calls", format: "hermes-json",
			text: "<tool_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>\nIt printed a.go.",
			want: Reply{Calls: call("ls", `{}`), Trailing: "\nIt printed a.go."},
		},
		{
			name: "calls switched off", format: "hermes-json", o: ParserOptions{NoCalls: true},
			text: `<tool_call>{"name": "ls", "arguments": {}}</tool_call>`,
			want: Reply{Content: `<tool_call>{"name": "ls", "arguments": {}}</tool_call>`},
		},
		{
			name: "JSON that is no call", format: "json",
			text: `{"name": "x"} and {"name": "none", "arguments": {}} and [1]`,
			want: Reply{Content: `{"name": "x"} and {"name": "none", "arguments": {}} and [1]`},
		},
		{
			name: "a list of Python calls in a sentence", format: "pythonic",
			text: `Let us see: [ls(), write(path='a', lines=["x", 'y'], mode=0x1f)]`,
			want: Reply{Content: "Let us see: ", Calls: []Call{
				{ID: "call00000", Name: "ls", Args: json.RawMessage(`{}`)},
				{ID: "call00001", Name: "write", Args: json.RawMessage(`{"path": "a", "lines": ["x", "y"], "mode": 31}`)},
			}},
		},
		{
			name: "an index is no list of calls", format: "pythonic",
			text: `Use a[ls()] or [range(3)] or [link](url).`,
			want: Reply{Content: `Use a[ls()] or [range(3)] or [link](url).`},
		},
		{
			name: "Python strings", format: "lfm2-pythonic",
			text: `<|tool_call_start|>[write(text="""a "b" \x41\u00e9""", path='it\'s\d')]<|tool_call_end|>`,
			want: Reply{Calls: call("write", `{"text": "a \"b\" A\u00e9", "path": "it's\\d"}`)},
		},
		{
			name: "a typed list from tags", format: "minimax-m3",
			text: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"write\">]<]minimax[>[<lines>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[<item>b]<]minimax[>[</item>]<]minimax[>[</lines>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
			want: Reply{Calls: call("write", `{"lines": ["1", "b"]}`)},
		},
		{
			name: "CDATA", format: "minicpm5",
			text: `<function name="write"><param name="text"><![CDATA[</param> & <b>]]></param></function>`,
			want: Reply{Calls: call("write", `{"text": "</param> & <b>"}`)},
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

// TestStreams checks that text is reported as soon as it is certain.
func TestStreams(t *testing.T) {
	p := Lookup("hermes-json").NewParser(nil, ParserOptions{})
	var got []string
	for _, piece := range []string{"Hello <", "b> <tool_", "x <tool_call>", `{"name": "f", "arg`, `uments": {"a": "b`, "c", `"}}`, "</tool_call>"} {
		var out []string
		for _, e := range p.Feed(piece) {
			out = append(out, strings.Join([]string{[]string{"content", "reasoning", "trailing", "start", "delta", "end"}[e.Kind], e.Name + e.Text}, " "))
		}
		got = append(got, strings.Join(out, "; "))
	}
	want := []string{
		"content Hello ", "content <b> ", "content <tool_x ", "", `start f; delta {"a": "b`, "delta c", `delta "}; end `, "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if _, err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.Feed("more") != nil {
		t.Error("a closed parser went on")
	}
}

// TestCloseError checks that the error of Close lists the calls that must not be run.
func TestCloseError(t *testing.T) {
	p := Lookup("hermes-json").NewParser(nil, ParserOptions{})
	p.Feed(`<tool_call>{"name": "f", "arguments": {"a`)
	_, err := p.Close()
	if err == nil || !strings.Contains(err.Error(), `"f": truncated`) {
		t.Errorf("error is %v", err)
	}
}
