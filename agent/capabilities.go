package agent

// Capabilities says what a [Model] can do, so that a host can choose one and a test suite can leave
// out what a model declares that it cannot do. A false field means "not at all or not reliably";
// Notes say more.
type Capabilities struct {
	Tools            bool // calls tools
	StreamingTools   bool // streams a call's arguments as they are written, instead of whole calls at the end
	ParallelTools    bool // may call several tools in one response
	ToolChoice       bool // honours every ToolChoice mode
	Thinking         bool // streams its reasoning as ThinkingDelta
	ThinkingReplay   bool // signs its reasoning and takes it back byte for byte
	RedactedThinking bool // hands out encrypted reasoning as Thinking.Redacted and takes it back
	Opaque           bool // hands out and takes back Opaque parts of its own provider
	Images           bool // takes images in user messages
	ImageURLs        bool // takes images by address
	ToolImages       bool // takes images in tool results
	StructuredOutput bool // holds an answer to Request.Output
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

// CapabilitiesOf returns what m declares with a Capabilities method. A model without one is taken
// to be able to do everything, and declared is false.
func CapabilitiesOf(m Model) (c Capabilities, declared bool) {
	if d, ok := m.(interface{ Capabilities() Capabilities }); ok {
		return d.Capabilities(), true
	}
	return AllCapabilities(), false
}
