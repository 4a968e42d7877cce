package langchain

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// Option changes how [Model] uses a langchaingo model.
type Option func(*model)

// MaxOutput sets the output tokens for requests that name no limit. Some clients have a low one of
// their own: 2,048 for Anthropic.
func MaxOutput(tokens int) Option { return func(m *model) { m.maxOutput = tokens } }

// Streaming says whether a response is streamed when no tools are offered. The default is yes,
// except for the Anthropic client, which leaves a goroutine behind for every error in a stream.
// Streaming has limits that whole responses have not: lines of at most 64 KiB, and events that
// langchaingo cannot read and drops without a word.
func Streaming(on bool) Option { return func(m *model) { m.traits.noStream = !on } }

// TrustEmptyStop takes a response without a stop reason for complete. It is the default for clients
// known never to give one, such as Ollama's.
func TrustEmptyStop() Option { return func(m *model) { m.traits.noStop = true } }

// DataURLs sends images as data: addresses instead of as binary parts. It is the default for the
// OpenAI client, which cannot send binary ones.
func DataURLs() Option { return func(m *model) { m.traits.dataURLs = true } }

// CallOptions adds langchaingo's own options to every call, after those that the request asks for.
func CallOptions(opts ...llms.CallOption) Option {
	return func(m *model) { m.callOptions = append(m.callOptions, opts...) }
}

// Capable changes what the model declares, for a host that knows its client better than this
// package does.
func Capable(edit func(*agent.Capabilities)) Option {
	return func(m *model) { m.edits = append(m.edits, edit) }
}
