package langchain

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// Option changes how [Model] uses a langchaingo model.
type Option func(*model)

// MaxOutput sets the limit of output tokens for requests that set none. Some clients have a low
// limit of their own: 2,048 for Anthropic.
func MaxOutput(tokens int) Option { return func(m *model) { m.maxOutput = tokens } }

// Streaming sets whether a response is streamed when no tools are offered. The default is yes,
// except for the Anthropic client, which leaks a goroutine for every error in a stream. Streaming
// has limits that whole responses do not have: lines of at most 64 KiB, and events that langchaingo
// cannot read are dropped silently.
func Streaming(on bool) Option { return func(m *model) { m.traits.noStream = !on } }

// TrustEmptyStop accepts a response without a stop reason as complete. It is the default for
// clients known never to return one, such as Ollama's.
func TrustEmptyStop() Option { return func(m *model) { m.traits.noStop = true } }

// DataURLs sends images as data: URLs instead of as binary parts. It is the default for the OpenAI
// client, which cannot send binary ones.
func DataURLs() Option { return func(m *model) { m.traits.dataURLs = true } }

// CallOptions adds langchaingo's own options to every call, after those for the request.
func CallOptions(opts ...llms.CallOption) Option {
	return func(m *model) { m.callOptions = append(m.callOptions, opts...) }
}

// Capable edits the model's declared capabilities, for a host that knows its client better than
// this package does.
func Capable(edit func(*agent.Capabilities)) Option {
	return func(m *model) { m.edits = append(m.edits, edit) }
}
