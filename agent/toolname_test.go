package agent

import "testing"

// TestCanonicalNames: a mangled name means a tool if exactly one fits, and no other name does.
//
// Evidence: loop · Mangled tool names are understood when exactly one tool fits
func TestCanonicalNames(t *testing.T) {
	offered := func(names ...string) *toolset {
		ts := &toolset{byName: map[string]int{}}
		for i, n := range names {
			ts.specs = append(ts.specs, ToolSpec{Name: n})
			ts.byName[n] = i
		}
		return ts
	}
	coding := offered("read", "write", "edit", "list_files", "apply_patch", "web-search", "tool_search", "mcp__git__log")
	for name, want := range map[string]string{
		"read":                          "read",
		"functions.read":                "read",
		"functions.read:0":              "read",
		"functions.read:12":             "read",
		"functions:read":                "read",
		"functions/read":                "read",
		"functions::read":               "read",
		"functions_read":                "read",
		"function-read":                 "read",
		"tools.read":                    "read",
		"default_api.read":              "read",
		"default_api:read":              "read",
		"assistant.functions.read":      "read",
		"namespace.sub.read":            "read",
		"read<|channel|>commentary":     "read",
		"read<|channel|>json":           "read",
		"read<|constrain|>json":         "read",
		"<|channel|>read":               "read",
		"<|tool_call_begin|>read":       "read",
		"read<｜tool▁sep｜>":              "read",
		"read|commentary":               "read",
		"to=functions.read":             "read",
		"assistant to=functions.read":   "read",
		"Read":                          "read",
		"READ":                          "read",
		" read ":                        "read",
		"read\n":                        "read",
		"\"read\"":                      "read",
		"`read`":                        "read",
		"read()":                        "read",
		"read({\"path\":\"a\"})":        "read",
		"read{\"path\":\"a\"}":          "read",
		"read[0]":                       "read",
		"readread":                      "read",
		"readreadread":                  "read",
		"ListFiles":                     "list_files",
		"listFiles":                     "list_files",
		"list-files":                    "list_files",
		"list files":                    "list_files",
		"list_files:3":                  "list_files",
		"functions.ListFiles":           "list_files",
		"web_search":                    "web-search",
		"ApplyPatch<|channel|>analysis": "apply_patch",
		"MCP__git__log":                 "mcp__git__log",
		"functions.mcp__git__log":       "mcp__git__log",

		"":                     "",
		"delete":               "",
		"read.delete":          "",
		"read_file":            "",
		"functions":            "",
		"functions.":           "",
		"re":                   "",
		"rea\x00d":             "",
		"re\xffad":             "",
		"readwrite":            "",
		"<|channel|>":          "",
		"commentary":           "",
		"writeread":            "",
		"0":                    "",
		"functions.functions.": "",
	} {
		got, ok := coding.canonical(name)
		if got != want && ok || ok != (want != "") {
			t.Errorf("canonical(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
	two := offered("Read", "read")
	for name, want := range map[string]string{"read": "read", "Read": "Read", "READ": "", "functions.READ": "", "functions.read": ""} {
		if got, ok := two.canonical(name); ok != (want != "") || (ok && got != want) {
			t.Errorf("of two tools, canonical(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

// TestWrittenCalls: a call that ends an answer as text is noticed in the formats that models write,
// and an answer that explains one is not.
func TestWrittenCalls(t *testing.T) {
	tools := &toolset{byName: map[string]int{"read": 0, "list_files": 1}, specs: []ToolSpec{{Name: "read"}, {Name: "list_files"}}}
	for _, text := range []string{
		"<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
		"I will look.\n<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>",
		"<tool_call>{\"name\":\"read\",\"arguments\":{}}", // never closed
		"<tool_call>\n<function=read>\n<parameter=path>\na.go\n</parameter>\n</function>\n</tool_call>",
		"<function=read>{\"path\":\"a\"}</function>",
		"<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>",
		"<tool_use>\n<name>read</name>\n<arguments>{}</arguments>\n</tool_use>",
		"<minimax:tool_call>\n<invoke name=\"read\">\n</invoke>\n</minimax:tool_call>",
		"[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {}}]",
		"[TOOL_CALLS]read[ARGS]{\"path\":\"a\"}",
		"<|tool_call|>[{\"name\":\"read\",\"arguments\":{}}]",
		"<|python_tag|>read.call(path=\"a\")",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"path\":\"a\"}",
		"functools[{\"name\":\"read\",\"arguments\":{}}]",
		"{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}",
		"{\"name\": \"functions.read\", \"parameters\": {}}",
		"[{\"name\":\"read\",\"arguments\":{}},{\"name\":\"list_files\",\"arguments\":{}}]",
		"{\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}",
		"{\"tool\":\"read\",\"input\":{}}",
		"```json\n{\"name\":\"read\",\"arguments\":{}}\n```",
		"Let me read it.\n\n```json\n{\"name\":\"read\",\"arguments\":{}}\n```",
		"Let me read it.\n{\"name\":\"read\",\"arguments\":{}}",
		"read(path=\"a.go\")",
		"functions.read({\"path\": \"a.go\"})",
		"print(default_api.read(path=\"a.go\"))",
		"[read(path=\"a.go\")]",
		"list_files()",
		"Thought: look first\nAction: read\nAction Input: {\"path\":\"a\"}",
	} {
		if !writtenCall(text, tools) {
			t.Errorf("a call is not noticed:\n%s", text)
		}
	}
	for _, text := range []string{
		"Done.",
		"I read the file and it is fine.",
		"The tests pass (see `read`).",
		"{\"name\":\"other\",\"arguments\":{}}",
		"{\"name\":\"read\",\"version\":\"1.0\"}",
		"{\"answer\": 4}",
		"The model should answer `<tool_call>{\"name\":\"read\"}</tool_call>`",
		"Qwen writes a call like this:\n\n```\n<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>\n```",
		"Qwen writes <tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call> and the server parses it.",
		"<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>\nis what I sent before; the file is fixed now.",
		"I changed read(path) to take a context.",
		"Use os.read(fd).\n\nread(path=\"a\") is what the old code called.",
		"func main() {\n\tread()\n}",
		"<invoice>read</invoice>",
		"",
		"   ",
	} {
		if writtenCall(text, tools) {
			t.Errorf("an answer is taken for a call:\n%s", text)
		}
	}
	if writtenCall("<tool_call>{\"name\":\"read\"}</tool_call>", &toolset{}) {
		t.Error("without tools there is no call")
	}
}

// FuzzNames: names and texts of any bytes are read without a panic, and a name never means a tool
// that is not offered.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"functions.read:0", "read<|channel|>", "<｜tool▁sep｜>read", "```json\n{\"name\":\"read\",\"arguments\":{}}\n```", "<tool_call>read", "\nAction: read\nAction Input:"} {
		f.Add(s)
	}
	tools := &toolset{byName: map[string]int{"read": 0, "list_files": 1}, specs: []ToolSpec{{Name: "read"}, {Name: "list_files"}}}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := tools.canonical(s); ok && name != "read" && name != "list_files" {
			t.Fatalf("%q means %q", s, name)
		}
		writtenCall(s, tools)
	})
}
