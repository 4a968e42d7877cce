package langchain

import (
	"cmp"
	"path"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// traits is what differs between langchaingo's clients.
type traits struct {
	provider   string
	noStop     bool // gives no stop reason
	noStream   bool // does not stream safely
	dataURLs   bool // takes images as data: addresses only
	imageURLs  bool // takes images by address
	toolChoice bool // sends the tool choice
	thinks     bool // takes a thinking configuration
}

// traitsOf recognises a client by its package, since linking all of them to ask for their types
// would link all they need. A client that wraps another, or that is not langchaingo's own, has no
// traits.
func traitsOf(llm llms.Model) traits {
	t := reflect.TypeOf(llm)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return traits{}
	}
	pkg := t.PkgPath()
	if !strings.HasPrefix(pkg, "github.com/tmc/langchaingo/llms/") {
		return traits{}
	}
	tr := traits{provider: path.Base(pkg)}
	switch tr.provider {
	case "openai":
		tr.dataURLs, tr.imageURLs, tr.toolChoice = true, true, true
	case "anthropic":
		tr.thinks, tr.noStream = true, true
	case "googleai", "vertex", "mistral", "bedrock":
	default:
		tr.noStop = true
	}
	return tr
}

// thinker names whose reasoning the model shows; see agent.Thinking.
func (m *model) thinker() string { return cmp.Or(m.traits.provider, "langchain") }

// Capabilities says what survives langchaingo.
func (m *model) Capabilities() agent.Capabilities {
	c := agent.Capabilities{
		Tools:         true,
		ParallelTools: true,
		ToolChoice:    m.traits.toolChoice,
		Thinking:      true,
		Images:        true,
		ImageURLs:     m.traits.imageURLs,
		Stop:          true,
		Usage:         true,
		CacheUsage:    true,
		// Only Anthropic's client reports it, and no other client's provider charges for it.
		CacheWriteUsage: m.traits.provider == "anthropic",
		Notes: []string{
			"Nothing is streamed while tools are offered: langchaingo mixes the pieces of parallel calls up.",
			"Thinking is shown but not sent back, and asked for only without tools: langchaingo's messages cannot hold it.",
			"Signatures of thinking are lost while streaming.",
			"Structured output is asked for in the system prompt and not enforced.",
			"Images in tool results are replaced by a note.",
			"Errors carry a kind and, where the text names it, a status; never a Retry-After.",
			"Request.Extra is not sent.",
		},
	}
	for _, edit := range m.edits {
		edit(&c)
	}
	return c
}
