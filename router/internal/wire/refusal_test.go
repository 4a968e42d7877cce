package wire

import (
	"strings"
	"testing"
)

// TestDemanded: a refusal that names the form of the history is read as such, and no other is.
func TestDemanded(t *testing.T) {
	for message, want := range map[string]Demand{
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2":                                              DemandReasoning,
		"The reasoning_content in the thinking mode must be passed back to the API.":                                                                  DemandReasoning,
		"invalid_request_error: The content[].thinking in the thinking mode must be passed back to the API.":                                          DemandReasoning,
		"Missing `reasoning_content` field in the assistant message at message index 4.":                                                              DemandReasoning,
		"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.":                                                DemandReasoning,
		"invalid params, reasoning_content is required":                                                                                               DemandReasoning,
		"property 'messages.1.reasoning_content' is unsupported":                                                                                      DemandNoReasoning,
		"body.messages.2.assistant.reasoning_content: Extra inputs are not permitted":                                                                 DemandNoReasoning,
		"Unknown parameter: 'messages[1].reasoning_content'.":                                                                                         DemandNoReasoning,
		"messages[2].reasoning: unexpected property":                                                                                                  DemandNoReasoning,
		"messages.1.content.0: Invalid `signature` in `thinking` block":                                                                               DemandNoReasoning,
		"The encrypted content gAAA could not be verified.":                                                                                           DemandNoReasoning,
		"After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.":            DemandTurns,
		"Unexpected role 'user' after role 'tool'":                                                                                                    DemandTurns,
		"messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row":                               DemandTurns,
		"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.":                                                                    DemandShortID,
		"Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 52 instead.": DemandShortID,
		"messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'":                                                            DemandShortID,
		"Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64":                                                       DemandShortID,
		"Function call is missing a thought_signature in functionCall parts.":                                                                         DemandSignature,

		"Unsupported value: 'reasoning_effort' does not support 'none' with this model.": DemandNone,
		"thinking.budget_tokens: Input should be greater than or equal to 1024":          DemandNone,
		"max_tokens must be greater than thinking.budget_tokens":                         DemandNone,
		"This model's maximum context length is 8192 tokens.":                            DemandNone,
		"Invalid API key":                DemandNone,
		"The model `x` does not exist":   DemandNone,
		"temperature: must be at most 2": DemandNone,
		"":                               DemandNone,
	} {
		if got := Demanded(message); got != want {
			t.Errorf("Demanded(%q) = %d, want %d", message, got, want)
		}
	}
}

// TestPairs: ids are different, keep to the rule, and depend on what came before only.
func TestPairs(t *testing.T) {
	ids := []string{"a", "a", "a_2", "", "", "é.:", strings.Repeat("x", 100), strings.Repeat("x", 100), strings.Repeat("x", 99) + "y", "call", "AbCdEfGh1", "AbCdEfGh1", "k__thought__" + strings.Repeat("z", 90)}
	for _, rule := range []IDRule{{}, {Max: 20}, {Max: 64, Chars: ".:"}, {Exact: 9}, {Max: 40, Keep: "__thought__"}} {
		p := Pairs{Rule: rule}
		seen := map[string]bool{}
		for i, id := range ids {
			wire := p.Call(id)
			kept := rule.Keep != "" && wire == id
			if seen[wire] || wire == "" || (rule.Max > 0 && len(wire) > rule.Max && !kept) || (rule.Exact > 0 && len(wire) != rule.Exact) {
				t.Errorf("%+v: call %d, %q, is %q", rule, i, id, wire)
			}
			seen[wire] = true
			again := Pairs{Rule: rule}
			var last string
			for _, id := range ids[:i+1] {
				last = again.Call(id)
			}
			if last != wire {
				t.Errorf("%+v: call %d is %q, and %q in a second pass", rule, i, wire, last)
			}
		}
		first, ok := p.Answer("a")
		second, _ := p.Answer("a")
		if !ok || first == second || first != "a" && rule.Exact == 0 {
			t.Errorf("%+v: results of two calls with one id go to %q and %q", rule, first, second)
		}
		if _, ok := p.Answer("nobody"); ok {
			t.Errorf("%+v: a result without a call has an id", rule)
		}
		if open := p.Settle(); len(open) != len(ids)-2 {
			t.Errorf("%+v: %d open calls, want %d", rule, len(open), len(ids)-2)
		}
	}
}
