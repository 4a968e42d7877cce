package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// writtenCall reports whether a text ends with a tool call that the model wrote as text: in the
// markup of a model's own format, as a JSON object, or as a function call. Only calls of an offered
// tool count, and only at the end: an answer that explains such a call goes on after it.
func writtenCall(text string, tools toolNames) bool {
	if tools.none() {
		return false
	}
	text = strings.TrimSpace(text)
	if n := len(text) - 64<<10; n > 0 {
		text = text[n:]
	}
	return markupCall(text, tools) || jsonCall(text, tools) || codeCall(text, tools)
}

var (
	// callMarkup matches the begin of a call in the formats of models.
	callMarkup = regexp.MustCompile(`(?i)<[a-z_-]*:?(tool_?calls?|function_?calls?|tool_use|invoke|function)\b[^<]{0,80}?>|<(\||｜)(tool|python_tag|dsml|channel)|\[tool_calls?\]|\[tool_request\]|✿function✿|functools\[|to=(functions|tools)\.|(?m:^action:[ \t]*\w)`)
	callWord   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)
	// callCode is a whole text that is one function call, as code:
	// print(default_api.read(path="a")).
	callCode = regexp.MustCompile("(?s)^(?:```\\w*\\n)?\\s*\\[?\\s*(?:print\\()?\\s*((?:\\w+\\.)*\\w+)\\s*\\(\\s*(?:\\{.*\\}|\\w+\\s*=.*|)\\s*\\)\\s*\\)?\\s*\\]?\\s*(?:```)?$")
)

// markupCall finds the last markup of a call. What follows it must name a tool and end like a call.
func markupCall(text string, tools toolNames) bool {
	at := callMarkup.FindAllStringIndex(text, -1)
	at = slices.DeleteFunc(at, func(m []int) bool { // tokens that end a call
		token, _, _ := strings.Cut(text[m[0]:], ">")
		return strings.HasSuffix(strings.TrimRight(token, "|｜"), "end")
	})
	if len(at) == 0 || !strings.ContainsRune(">}])`", rune(text[len(text)-1])) && !strings.Contains(text, "\nAction Input:") {
		return false
	}
	first := at[len(at)-1][0]
	for i := len(at) - 2; i >= 0; i-- { // the outermost markup of the last call: <tool_calls><invoke …>
		if strings.TrimSpace(text[at[i][1]:first]) != "" {
			break
		}
		first = at[i][0]
	}
	if first > 0 && text[first-1] == '`' || strings.Count(text[:first], "```")%2 == 1 && !strings.HasPrefix(text, "```") {
		return false // quoted
	}
	rest := text[at[len(at)-1][0]:]
	for _, word := range callWord.FindAllString(rest, 24) {
		if _, ok := tools.canonical(word); ok {
			return endsWithCall(rest)
		}
	}
	return false
}

// endsWithCall reports whether the text after the markup of a call has no prose after the call: its
// last line is markup or JSON.
func endsWithCall(rest string) bool {
	last := rest[strings.LastIndexByte(rest, '\n')+1:]
	last = strings.TrimSpace(last)
	if len(last) == len(rest) { // all on one line
		return true
	}
	return last != "" && (strings.ContainsRune("<}])`|[", rune(last[0])) || strings.HasPrefix(last, "Action Input:") || strings.HasPrefix(last, "{"))
}

// jsonCall reports whether the text is, or ends with a block of, JSON that names a tool and its
// arguments.
func jsonCall(text string, tools toolNames) bool {
	body := text
	if inner, ok := strings.CutSuffix(text, "```"); ok {
		i := strings.LastIndex(inner, "```")
		if i < 0 {
			return false
		}
		body = inner[i+3:]
		if nl := strings.IndexByte(body, '\n'); nl >= 0 {
			body = body[nl+1:]
		}
	} else if i := strings.Index(text, "\n{"); i >= 0 && text[0] != '{' && text[0] != '[' {
		body = text[i+1:]
	}
	body = strings.TrimSpace(body)
	if body == "" || (body[0] != '{' && body[0] != '[') {
		return false
	}
	var list []map[string]json.RawMessage
	if body[0] == '{' {
		body = "[" + body + "]"
	}
	if json.Unmarshal([]byte(body), &list) != nil || len(list) == 0 {
		return false
	}
	for _, o := range list {
		if !namesCall(o, tools, 2) {
			return false
		}
	}
	return true
}

func namesCall(o map[string]json.RawMessage, tools toolNames, depth int) bool {
	if inner, ok := o["function"]; ok && len(inner) > 0 && inner[0] == '{' && depth > 0 {
		var f map[string]json.RawMessage
		return json.Unmarshal(inner, &f) == nil && namesCall(f, tools, depth-1)
	}
	named, args := false, false
	for _, key := range []string{"name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"} {
		var name string
		if json.Unmarshal(o[key], &name) == nil && name != "" {
			_, ok := tools.canonical(name)
			named = named || ok
		}
	}
	for _, key := range []string{"arguments", "args", "parameters", "params", "input", "tool_input", "action_input"} {
		_, ok := o[key]
		args = args || ok
	}
	return named && args
}

// codeCall reports whether the whole text is a function call of a tool, as code.
func codeCall(text string, tools toolNames) bool {
	if len(text) > 4096 {
		return false
	}
	m := callCode.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, ok := tools.canonical(m[1])
	return ok
}

// toolNames resolves the names of tools for the search for written calls.
type toolNames interface {
	none() bool
	canonical(name string) (string, bool)
}
