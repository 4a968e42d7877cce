package agent

import "time"

// Event is one thing that happened in a run. The set is sealed: every [Chunk] of the model, passed
// through as it arrives, and the loop's own events below.
type Event interface{ event() }

// StepStart says that the model is asked for the next time; Step counts from 1.
type StepStart struct{ Step int }

// MessageAdded says that a message was appended to the session.
type MessageAdded struct{ Message Message }

// CallStart says that a tool call begins to run.
type CallStart struct {
	Call    ToolCall
	Effects Effects
}

// CallProgress is output of a running tool, sent with [Progress].
type CallProgress struct {
	CallID string
	Text   string
}

// CallDone says that a tool call ended. Events of parallel calls come in the order in which they
// end; results in the session are in call order.
type CallDone struct {
	Call     ToolCall
	Result   ToolResult
	Duration time.Duration
}

// Decided reports a permission decision on a call.
type Decided struct {
	Call    ToolCall
	Verdict Verdict
}

// RetryWait says that a model call failed and will be sent again after Delay.
type RetryWait struct {
	Attempt int // 1 for the first retry
	Delay   time.Duration
	Err     error
}

// StreamReset says that what was streamed of the current step so far is void, because the request
// is sent again.
type StreamReset struct{}

// Steered says that a message was injected mid-run.
type Steered struct{ Message Message }

// Reminded says that the loop added a reminder for the model, such as a repetition warning.
type Reminded struct{ Text string }

// Compacted says that the history was rewritten to fit its budget.
type Compacted struct{ Report CompactionReport }

// Checkpointed says that the workspace was snapshotted before the first write of a turn, or could
// not be: then Err says why, and the turn cannot be undone.
type Checkpointed struct {
	ID  string
	Err error
}

// PlanChanged says that the session's plan was replaced.
type PlanChanged struct{ Plan string }

// TodosChanged says that the session's todo list was replaced.
type TodosChanged struct{ Todos []Todo }

// SubEvent is an event of a sub-agent that runs as the tool call CallID.
type SubEvent struct {
	CallID string
	Event  Event
}

// Done is the last event of every run.
type Done struct{ Result *Result }

func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (ToolCallStart) event() {}
func (ToolCallDelta) event() {}
func (Opaque) event()        {}
func (Usage) event()         {}
func (Finish) event()        {}
func (StepStart) event()     {}
func (MessageAdded) event()  {}
func (CallStart) event()     {}
func (CallProgress) event()  {}
func (CallDone) event()      {}
func (Decided) event()       {}
func (RetryWait) event()     {}
func (StreamReset) event()   {}
func (Steered) event()       {}
func (Reminded) event()      {}
func (Compacted) event()     {}
func (Checkpointed) event()  {}
func (PlanChanged) event()   {}
func (TodosChanged) event()  {}
func (SubEvent) event()      {}
func (Routing) event()       {}
func (Routed) event()        {}
func (Done) event()          {}
