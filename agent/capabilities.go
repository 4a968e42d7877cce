package agent

// Capabilities says what a [Model] can do, so that a host can choose one and a test suite can skip
// what a model declares unsupported. A false field means "not at all or not reliably"; Notes
// contain details.
type Capabilities struct {
	Tools            bool // calls tools
	StreamingTools   bool // streams a call's arguments as they are written, instead of whole calls at the end
	ParallelTools    bool // may call several tools in one response
	ToolChoice       bool // honours every ToolChoice mode
	Thinking         bool // streams its reasoning as ThinkingDelta
	ThinkingReplay   bool // signs its reasoning and accepts it back byte for byte
	RedactedThinking bool // returns encrypted reasoning as Thinking.Redacted and accepts it back
	Opaque           bool // returns Opaque parts of its own provider and accepts them back
	Images           bool // accepts images in user messages
	ImageURLs        bool // accepts images by URL
	ToolImages       bool // accepts images in tool results
	StructuredOutput bool // makes answers conform to Request.Output
	Stop             bool // honours Request.Stop
	Usage            bool // reports tokens
	CacheUsage       bool // reports tokens read from a prompt cache
	CacheWriteUsage  bool // reports tokens written to a prompt cache
	TypedErrors      bool // errors carry their kind, the HTTP status and Retry-After

	MaxContext int      // tokens of prompt and answer together; 0 if not known
	Notes      []string // limits that the fields cannot say, one sentence each
}

// AllCapabilities returns capabilities with every ability set and no known context size.
func AllCapabilities() Capabilities {
	return Capabilities{
		Tools: true, StreamingTools: true, ParallelTools: true, ToolChoice: true,
		Thinking: true, ThinkingReplay: true, RedactedThinking: true, Opaque: true,
		Images: true, ImageURLs: true, ToolImages: true, StructuredOutput: true, Stop: true,
		Usage: true, CacheUsage: true, CacheWriteUsage: true, TypedErrors: true,
	}
}

// CapabilitiesOf returns what m declares with a Capabilities method. A model without one is assumed
// to be able to do everything, and declared is false.
func CapabilitiesOf(m Model) (c Capabilities, declared bool) {
	if d, ok := m.(interface{ Capabilities() Capabilities }); ok {
		return d.Capabilities(), true
	}
	return AllCapabilities(), false
}
