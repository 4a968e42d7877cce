package wire

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestOverflows: a full context is recognised in the words of any server, and nothing else is taken
// for one.
//
// Evidence: backends · A full context is recognised by status, code and sizes, in any words
func TestOverflows(t *testing.T) {
	for _, message := range []string{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
		"You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.",
		"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
		"prompt is too long: 210000 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
		"The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
		"Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens",
		"The input (171834 tokens) is longer than the model's context length (163840 tokens).",
		"the request exceeds the available context size (32768 tokens), try increasing it",
		"trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
		"The number of tokens to keep from the initial prompt is greater than the context length.",
		"Prompt contains 131075 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
		"Your request exceeded model token limit: 262144 (requested: 300000)",
		"invalid params, context window exceeds limit (2013)",
		"Input is too long for requested model.",
		"Total tokens of image and text exceed max message tokens.",
		"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
		"too many tokens: total number of tokens in the prompt exceeds the limit of 4081",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Request body too large for gpt-4o model. Max size: 8000 tokens.",
		"input length exceeds the context length",
		"prompt token 300000 is over limit 163840",
		"Requested input length 200001 exceeds maximum input length 163840",
		"Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536",
		"The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
		"Prompt exceeds max length",
		"The prompt is too long: 145000, model maximum context length: 131071",
		"request (140000 tokens) exceeds the 128k window of this model",
		"max_seq_len (8192) is smaller than the 9000 tokens of the prompt",
		"Sequence length 40000 > 32768",
		"conversation does not fit into the model: 40000 of 32768 tokens",
		"输入长度超过限制，最大 131072，当前 140000",
		"上下文长度超出模型上限",
		"トークン数が上限を超えています: 140000 > 131072",
		"El contexto supera el máximo: 140000 de 131072",
		"Die Eingabe ist zu lang: 140000 Token, erlaubt sind 131072",
	} {
		for _, status := range []int{0, 400, 422, 500} {
			r := Refusal{Status: status, Type: "invalid_request_error", Message: message}
			if !r.Overflows() {
				t.Errorf("status %d: a full context is not recognised: %s", status, message)
			}
		}
		if r := (Refusal{Status: 429, Message: message}); r.Overflows() {
			t.Errorf("a rate limit is taken for a full context: %s", message)
		}
	}
	for _, r := range []Refusal{
		{Code: "context_length_exceeded"}, {Type: "exceed_context_size_error"}, {Code: "tokens_limit_reached"}, {Code: "prompt_too_long"}, {Code: "ContextWindowExceededError"},
		{Code: "model_max_prompt_tokens_exceeded"}, {Type: "request_too_large"},
		{Code: "string_above_max_length", Param: "messages[3].content"},
		{Message: "Bad Request", Tokens: 130_000, Window: 131_072},
		{Message: "Bad Request", Body: []byte(`{"error":{"message":"Bad Request","n_prompt_tokens":9000,"n_ctx":8192}}`)},
		{Message: "Bad Request", Body: []byte(`{"detail":{"input_tokens": "140000", "max_input_tokens": 131072}}`)},
		{Message: "Anfrage abgelehnt (131072)", Tokens: 140_000},
	} {
		if r.Status = 400; !r.Overflows() {
			t.Errorf("not recognised: %+v", r)
		}
	}
	if r := (Refusal{Status: 413}); !r.Overflows() {
		t.Error("status 413 is not recognised")
	}
	for _, r := range []Refusal{
		{Code: "string_above_max_length", Param: "messages[1].tool_calls[0].id", Message: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 4000 instead."},
		{Message: "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 1300 instead."},
		{Message: "messages.1.content.0.tool_use.id: String should have at most 64 characters"},
		{Message: "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9."},
		{Message: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."},
		{Message: "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku"},
		{Message: "`max_tokens` must be greater than `thinking.budget_tokens` (16000)"},
		{Message: "thinking.budget_tokens: Input should be greater than or equal to 1024"},
		{Message: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.", Param: "tools"},
		{Message: "tools.0.custom.description: String should have at most 1024 characters"},
		{Message: "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes"},
		{Message: "messages.0.content.1.image.source: image dimensions exceed max allowed size: 8000 pixels"},
		{Message: "Invalid value for 'prompt_cache_key': string too long, maximum length 64, got 1200", Param: "prompt_cache_key"},
		{Message: "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 25000, Requested 12000."},
		{Message: "You exceeded your current quota of 1000000 tokens."},
		{Message: "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1200."},
		{Message: "temperature: Input should be less than or equal to 2"},
		{Message: "Input should be a valid list"},
		{Message: "messages: at least one message is required"},
		{Message: "Prompt must not be empty"},
		{Message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."},
		{Message: "Duplicate function_call_output for call_id"},
		{Message: "Unsupported value: 'reasoning_effort' does not support 'none' with this model."},
		{Message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy."},
		{Message: "conversation roles must alternate user and assistant"},
		{Message: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"},
		{Message: "Function call is missing a thought_signature in functionCall parts."},
		{Message: "The model `gpt-9` does not exist"},
		{Message: "Bad Request", Tokens: 1000, Window: 131_072},
		{Message: "Bad Request"},
		{Message: "request timeout: API call exceeded deadline"},
		{Message: "Request exceeds your concurrency limit of 1024"},
		{Message: "The request exceeded the time limit"},
		{Message: "Bad Request", Body: []byte(`{"error":{"message":"Bad Request","n_prompt_tokens":900,"n_ctx":900}}`)},
		{Message: ""},
	} {
		if r.Status = 400; r.Overflows() {
			t.Errorf("taken for a full context: %+v", r)
		}
	}
	for _, status := range []int{401, 402, 403, 404, 429, 503} {
		if r := (Refusal{Status: status, Message: "prompt is too long: 210000 tokens > 200000 maximum"}); r.Overflows() {
			t.Errorf("status %d is taken for a full context", status)
		}
	}
}

// TestTokens: the estimate counts all texts of a request.
func TestTokens(t *testing.T) {
	text := strings.Repeat("some words of a text ", 1000)
	one := Tokens(&agent.Request{Messages: []agent.Message{agent.UserText(text)}})
	all := Tokens(&agent.Request{System: text, Messages: []agent.Message{agent.UserText(text), {Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{Parts: []agent.Part{agent.Text{Text: text}}}}}}})
	if one < 2000 || one > 10_000 || all < 3*one-100 || all > 3*one+100 {
		t.Errorf("%d tokens of one text, %d of three", one, all)
	}
}
