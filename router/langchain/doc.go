// Package langchain joins this library to langchaingo (github.com/tmc/langchaingo), both ways:
// [Model] makes any of its models an [agent.Model], and [LLM] makes any agent.Model one of its
// models.
//
//	llm, err := ollama.New(ollama.WithModel("qwen3"))
//	if err != nil { ... }
//	model := langchain.Model(llm)
//
// Where this library has a backend of its own, take that one: langchaingo loses some of what an
// agent needs. What [Model] does about the faults of its version 0.1.14, each of which a test of
// this package pins:
//
//   - Its Anthropic client sends only the first part of an assistant or tool message, and its
//     OpenAI client refuses several tool results in one. So every call, result and text becomes a
//     message of its own, and each result follows its call.
//   - Its OpenAI client mixes the pieces of parallel calls up while streaming. So nothing is
//     streamed when tools are offered; the response then arrives whole.
//   - A cut or cancelled stream comes back as a success. So the context is checked after every
//     call, and a response without a stop reason is [agent.ErrIncomplete] (see [TrustEmptyStop] for
//     clients that never give one).
//   - Its Anthropic client calls back from another goroutine, and leaves that one behind when the
//     stream holds an error. So every call runs in a goroutine of its own that hands its chunks
//     over, and that client does not stream unless [Streaming] says so.
//   - One answer comes as several choices, each repeating the usage. So choices are folded, and
//     usage is read once.
//   - Errors are bare strings. So status and kind are recognised in the text where they can be.
//
// What cannot be mended from outside is told by the model's Capabilities method: signed thinking is
// not replayed, images in tool results and tool choices may be lost, and output is not held to a
// schema. Two more limits come from its clients' defaults: without [agent.Request].Temperature its
// clients send 0, and without a limit ([MaxOutput]) its Anthropic client stops after 2,048 tokens.
package langchain
