package langchain

import (
	"cmp"
	"path"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// traits holds the differences between langchaingo's clients.
type traits struct {
	provider   string
	noStop     bool // returns no stop reason
	noStream   bool // does not stream safely
	dataURLs   bool // accepts images only as data: URLs
	imageURLs  bool // accepts images by URL
	toolChoice bool // sends the tool choice
	thinks     bool // accepts a thinking configuration
}

// traitsOf recognises a client by its package path: using the clients' types would link all of them
// and everything they need. A client that wraps another, or that is not langchaingo's own, has no
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

// thinker returns the provider of the model's reasoning; see agent.Thinking.
func (m *model) thinker() string { return cmp.Or(m.traits.provider, "langchain") }

// Capabilities returns what langchaingo can pass through.
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
		// Only Anthropic's client reports it, and no other client's provider charges for cache
		// writes.
		CacheWriteUsage: m.traits.provider == "anthropic",
		Notes: []string{
			"Nothing is streamed while tools are offered: langchaingo mixes the pieces of parallel calls up.",
			"Thinking is shown but not sent back, and asked for only without tools: langchaingo's messages cannot hold it.",
			"Signatures of thinking are lost while streaming.",
			"Structured output is asked for in the system prompt and not enforced.",
			"Images in tool results are replaced by a note.",
			"Errors carry a kind and, where the text names them, a status and a wait.",
			"Request.Extra is not sent.",
		},
	}
	for _, edit := range m.edits {
		edit(&c)
	}
	return c
}
