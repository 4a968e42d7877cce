package agent

import "time"

// Event is something that happened in a run. The set is sealed: every [Chunk] of the model, passed
// through as it arrives, and the loop's own events below.
type Event interface{ event() }

// StepStart reports that the model is about to be called; Step counts from 1.
type StepStart struct{ Step int }

// MessageAdded reports that a message was appended to the session.
type MessageAdded struct{ Message Message }

// CallStart reports that a tool call begins to run.
type CallStart struct {
	Call    ToolCall
	Effects Effects
}

// CallProgress is output of a running tool, sent with [Progress].
type CallProgress struct {
	CallID string
	Text   string
}

// CallDone reports that a tool call ended. Events of parallel calls come in the order in which the
// calls end; results in the session are in call order.
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

// RetryWait reports that a model call failed and will be sent again after Delay.
type RetryWait struct {
	Attempt int // 1 for the first retry
	Delay   time.Duration
	Err     error
}

// Charged reports that a model call ended without a complete answer, because it broke, timed out or
// was cancelled, and that it counts all the same. A [Routed] reports the calls that a router made.
type Charged struct {
	Usage        Usage
	MicroDollars int64
	Estimated    bool // the provider did not report all of Usage; see CallUsage
	Err          error
}

// AskedAgain reports that an answer could not be the end of the work and that the model is asked
// again: with the same request at first, later with a reminder. See [Retry].
type AskedAgain struct {
	Attempt int        // 1 for the first unusable answer in a row
	Stop    StopReason // the reason with which the run would stop
	Detail  string     // one sentence that explains it, for a person
}

// StreamReset reports that everything streamed so far in the current step is void, because the
// request is sent again.
type StreamReset struct{}

// Steered reports that a message was injected during the run.
type Steered struct{ Message Message }

// Reminded reports that the loop added a reminder for the model, such as a repetition warning.
type Reminded struct{ Text string }

// Compacted reports that the history was rewritten to fit its budget.
type Compacted struct{ Report CompactionReport }

// Redacted reports that the server refused a request because of pictures in it, and that these were
// replaced by texts in the history. The request is sent again.
type Redacted struct {
	Parts int   // number of parts that were replaced
	Err   error // what the server said
}

// Checkpointed reports that the workspace was snapshotted before the first write of a turn. If that
// failed, Err says why, and the turn cannot be undone.
type Checkpointed struct {
	ID  string
	Err error
}

// PlanChanged reports that the session's plan was replaced.
type PlanChanged struct{ Plan string }

// TodosChanged reports that the session's todo list was replaced.
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
func (Charged) event()       {}
func (AskedAgain) event()    {}
func (StreamReset) event()   {}
func (Steered) event()       {}
func (Reminded) event()      {}
func (Compacted) event()     {}
func (Redacted) event()      {}
func (Checkpointed) event()  {}
func (PlanChanged) event()   {}
func (TodosChanged) event()  {}
func (SubEvent) event()      {}
func (Routing) event()       {}
func (Routed) event()        {}
func (Done) event()          {}
