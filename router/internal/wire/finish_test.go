package wire

import (
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestFinish: every known word has its meaning, in any spelling, and no unknown word means that the
// answer is complete.
func TestFinish(t *testing.T) {
	for word, want := range map[string]agent.FinishReason{
		"stop": agent.FinishStop, "STOP": agent.FinishStop, "end_turn": agent.FinishStop, "FinishReasonStop": agent.FinishStop, "eos": agent.FinishStop, "eos_token": agent.FinishStop, "COMPLETE": agent.FinishStop,
		"tool_calls": agent.FinishTools, "tool-calls": agent.FinishTools, "tool_use": agent.FinishTools, "function_call": agent.FinishTools,
		"length": agent.FinishLength, "MAX_TOKENS": agent.FinishLength, "max_output_tokens": agent.FinishLength, "model_context_window_exceeded": agent.FinishLength,
		"content_filter": agent.FinishFilter, "SAFETY": agent.FinishFilter, "sensitive": agent.FinishFilter, "PROHIBITED_CONTENT": agent.FinishFilter,
		"refusal": agent.FinishRefusal, "pause_turn": agent.FinishPause,
		"malformed_function_call": agent.FinishMalformed, "function_call_filter: MALFORMED_FUNCTION_CALL": agent.FinishMalformed, "MalformedFunctionCall": agent.FinishMalformed, "UNEXPECTED_TOOL_CALL": agent.FinishMalformed,
		"tired": agent.FinishOther, "stop_it": agent.FinishOther, "finish_reason_new": agent.FinishOther, "OTHER": agent.FinishOther, "": agent.FinishOther,
	} {
		if got, failed := Finish(word); got != want || failed != "" {
			t.Errorf("Finish(%q) = %s, %s, want %s", word, got, failed, want)
		}
	}
	for word, want := range map[string]agent.ErrorKind{
		"network_error": agent.ErrNetwork, "NetworkError": agent.ErrNetwork, "error": agent.ErrIncomplete, "unknown": agent.ErrIncomplete, "aborted": agent.ErrIncomplete,
		"insufficient_system_resource": agent.ErrOverloaded, "timeout": agent.ErrTimeout, "internal_error": agent.ErrServer,
	} {
		if got, failed := Finish(word); got != "" || failed != want || !failed.Retryable() {
			t.Errorf("Finish(%q) = %s, %s, want the error %s", word, got, failed, want)
		}
	}
}
