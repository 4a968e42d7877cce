package agent

import (
	"encoding/json"
	"time"
)

// StopReason is the reason why a run ended.
type StopReason string

// The reasons a run ends with.
const (
	StopDone       StopReason = "done"           // the model answered with text and without asking for a tool
	StopSteps      StopReason = "max_steps"      // Limits.Steps was reached
	StopTokens     StopReason = "max_tokens"     // Limits.Tokens was reached
	StopCost       StopReason = "max_cost"       // Limits.MicroDollars was reached
	StopTime       StopReason = "max_time"       // Limits.Wall was reached
	StopRepetition StopReason = "repetition"     // identical calls had identical results too often
	StopUnverified StopReason = "unverified"     // Config.Verify still rejected the work after Limits.Verifications
	StopLength     StopReason = "length"         // the model's answer was cut at its output limit
	StopFiltered   StopReason = "filtered"       // the provider withheld the answer or the model refused
	StopEmpty      StopReason = "empty"          // the model neither answered nor called a tool, after Retry.Answers
	StopMalformed  StopReason = "malformed_call" // the model's call could not be read or was written as text, after Retry.Answers
	StopUnfinished StopReason = "unfinished"     // the answer ended for an unknown reason, after Retry.Answers
	StopOutput     StopReason = "invalid_output" // the answer did not fit Config.Output, after Retry.Answers; Result.Err says why
	StopCanceled   StopReason = "canceled"       // the context ended, the loop was left, or Cancel was called
	StopError      StopReason = "error"          // the model failed for good; see Result.Err
)

// Result is the outcome of a run.
type Result struct {
	Stop    StopReason
	Detail  string   // one sentence that explains Stop, for a person
	Message *Message // the last assistant message, nil if there was none; with Output, its text is that JSON
	// Output is the JSON that Config.Output asked for, checked and repaired. It is nil if the run
	// ended without such an answer.
	Output       json.RawMessage
	Steps        int   // model calls that produced a message
	Calls        int   // tool calls that ran
	Usage        Usage // of this run, sub-agents included
	Estimated    Usage // the part of Usage in calls that broke or were cancelled, so that it is an estimate
	MicroDollars int64 // cost by the price table or as reported by routers, sub-agents included; see Unpriced
	Unpriced     bool  // some calls have no known price, so that MicroDollars does not contain their cost
	Duration     time.Duration
	Abandoned    int   // tool calls that ignored their cancelled context and were abandoned
	Err          error // with StopError and StopOutput, and with StopCanceled if the caller's context ended
}

// Text returns the text of the last assistant message, or "".
func (r *Result) Text() string {
	if r == nil || r.Message == nil {
		return ""
	}
	return r.Message.Text()
}
