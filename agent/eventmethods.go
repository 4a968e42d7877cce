package agent

// The methods below give events their wire form in encoding/json, also inside values of a host.
// Usage and Opaque have none, since they have a JSON form without a tag in sessions and messages.

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e TextDelta) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *TextDelta) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e ThinkingDelta) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *ThinkingDelta) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e ToolCallStart) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *ToolCallStart) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e ToolCallDelta) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *ToolCallDelta) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Finish) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Finish) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e StepStart) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *StepStart) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e MessageAdded) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *MessageAdded) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e CallStart) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *CallStart) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e CallProgress) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *CallProgress) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e CallDone) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *CallDone) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Decided) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Decided) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e RetryWait) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *RetryWait) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Charged) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Charged) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e AskedAgain) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *AskedAgain) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e StreamReset) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *StreamReset) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Steered) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Steered) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Reminded) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Reminded) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Compacted) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Compacted) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Redacted) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Redacted) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Checkpointed) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Checkpointed) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e PlanChanged) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *PlanChanged) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e TodosChanged) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *TodosChanged) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e SubEvent) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *SubEvent) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Routing) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Routing) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Routed) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Routed) UnmarshalJSON(data []byte) error { return readEvent(data, e) }

// MarshalJSON returns the wire form; see [MarshalEvent].
func (e Done) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON reads the wire form; see [UnmarshalEvent].
func (e *Done) UnmarshalJSON(data []byte) error { return readEvent(data, e) }
