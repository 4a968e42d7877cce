package toolformat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Caps lists the features that a template accepts.
type Caps struct {
	System    bool // a system message
	Answers   bool // an assistant's message
	Tools     bool // a list of tools
	Calls     bool // an assistant's calls
	Parallel  bool // several calls in one message
	Results   bool // messages of the role tool
	Reasoning bool // an assistant's thinking, in a message that calls a tool
	LongIDs   bool // ids of calls in any form; if false, ids must be nine letters and digits
	Repeats   bool // two user messages in a row
	CallText  bool // calls together with text in one message
	CallThink bool // calls together with text and thinking in one message
}

// The needles: texts that probes put into conversations and look for in the rendered text.
const (
	needleUser   = "needle-user"
	needleSystem = "needle-system"
	needleTool   = "needle_tool"
	needleKey    = "needle_key" // key of an argument that the tool's schema does not have
	needleValue  = "needle-value"
	needleResult = "needle-result"
	needleThink  = "needle-think"
)

// probe determines the features that the template accepts.
func (t *Template) probe() error {
	user := Message{Role: "user", Content: needleUser}
	if _, err := t.try(Conversation{Messages: []Message{user}}, shape{}, needleUser); err != nil {
		as := shape{parts: true}
		if _, partsErr := t.try(Conversation{Messages: []Message{user}}, as, needleUser); partsErr != nil {
			return fmt.Errorf("toolformat: probe template: not even a user's message: %w", err)
		}
		t.shape = as
	}
	system := Message{Role: "system", Content: needleSystem}
	yes := Message{Role: "assistant", Content: needleValue}
	t.caps.Answers = t.takes(Conversation{Messages: []Message{user, yes}}, needleUser, needleValue)
	t.caps.System = t.takes(Conversation{Messages: []Message{system, user}}, needleSystem, needleUser)
	if t.caps.Answers { // some templates show the system message only while the last message is a user's
		t.caps.System = t.caps.System && t.takes(Conversation{Messages: []Message{system, user, yes}}, needleSystem)
	}
	t.caps.Repeats = t.takes(Conversation{Messages: []Message{user, {Role: "user", Content: needleValue}}}, needleUser, needleValue)
	tool := Tool{
		Name: needleTool, Description: "A tool.",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"k": {"type": "string", "description": "A key."}}}`),
	}
	tools := []Tool{tool}
	t.caps.Tools = t.takes(Conversation{Messages: []Message{user}, Tools: tools, GenerationPrompt: true}, needleTool) ||
		t.takes(Conversation{Messages: []Message{system, user}, Tools: tools, GenerationPrompt: true}, needleTool)
	if !t.caps.Tools {
		tools = nil
	}
	t.probeCalls(user, tools)
	return nil
}

// try renders a conversation and looks for the needles in the result.
func (t *Template) try(c Conversation, as shape, needles ...string) (string, error) {
	text, err := t.render(c, as)
	if err != nil {
		return "", err
	}
	for _, n := range needles {
		if !strings.Contains(text, n) {
			return text, fmt.Errorf("%q is not in the text", n)
		}
	}
	return text, nil
}

// takes reports whether a conversation renders with all needles in the result.
func (t *Template) takes(c Conversation, needles ...string) bool {
	_, err := t.try(c, t.shape, needles...)
	return err == nil
}

// probeCalls determines the form in which the template accepts calls and their results.
func (t *Template) probeCalls(user Message, tools []Tool) {
	call := func(id string) Message {
		return Message{Role: "assistant", Calls: []Call{{
			ID: id, Name: needleTool, Args: json.RawMessage(`{"` + needleKey + `": "` + needleValue + `"}`),
		}}}
	}
	const short, long, odd = "call00001", "call_needle-0123456789abcdef", "c_1"
	result := func(id string) Message {
		return Message{Role: "tool", CallID: id, Name: needleTool, Content: needleResult}
	}
	if !t.probeArgs(Conversation{Messages: []Message{user, call(short), result(short)}, Tools: tools}) &&
		!t.probeArgs(Conversation{Messages: []Message{user, call(short)}, Tools: tools}) {
		return
	}
	t.caps.Calls = true
	turn := func(messages ...Message) Conversation {
		return Conversation{Messages: append([]Message{user}, messages...), Tools: tools, GenerationPrompt: true}
	}
	t.caps.Results = t.takes(turn(call(short), result(short)), needleResult)
	t.caps.LongIDs = t.takes(turn(call(long), result(long)), needleResult) && t.takes(turn(call(odd), result(odd)), needleResult)
	two := call(short)
	two.Calls = append(two.Calls, Call{ID: "call00002", Name: needleTool, Args: json.RawMessage(`{"` + needleKey + `": "second-value"}`)})
	other := result("call00002")
	other.Content = "second-result"
	t.caps.Parallel = t.takes(turn(two, result(short), other), needleValue, "second-value", needleResult, "second-result")
	thought := call(short)
	thought.Reasoning = needleThink
	for _, key := range []string{"reasoning_content", "reasoning", "thinking"} {
		as := t.shape
		as.reasoning = key
		if _, err := t.try(turn(thought, result(short)), as, needleThink, needleValue); err == nil {
			t.shape, t.caps.Reasoning = as, true
			break
		}
	}
	said := call(short)
	said.Content = needleSystem
	t.caps.CallText = t.takes(turn(said, result(short)), needleValue, needleResult)
	said.Reasoning = needleThink
	t.caps.CallThink = t.caps.CallText && t.takes(turn(said, result(short)), needleValue, needleResult)
}

// probeArgs reports whether the template takes arguments as an object or as JSON text. With the
// wrong form, rendering fails, or the printed form is recognisably wrong.
func (t *Template) probeArgs(c Conversation) bool {
	for _, argsText := range []bool{false, true} {
		as := t.shape
		as.argsText = argsText
		text, err := t.try(c, as, needleTool, needleKey, needleValue)
		if err != nil || strings.Contains(text, `'`+needleKey+`': `) || strings.Contains(text, `\"`+needleKey) {
			continue
		}
		t.shape = as
		return true
	}
	return false
}
