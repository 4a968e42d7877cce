// Package langchain connects this library and langchaingo (github.com/tmc/langchaingo): [Model]
// makes an [agent.Model] of a langchaingo model, and [LLM] makes a langchaingo model of an
// agent.Model.
//
//	llm, err := ollama.New(ollama.WithModel("qwen3"))
//	if err != nil { ... }
//	model := langchain.Model(llm)
//
// Prefer a backend of this library if there is one: langchaingo loses some of what an agent needs.
// [Model] works around these faults of its version 0.1.14, each pinned by a test of this package:
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
// # Limits
//
// The model's Capabilities method reports what cannot be repaired from outside.
//
//   - Signed thinking is not replayed, and signatures do not arrive while streaming.
//   - Images in tool results become a note, and tool choices may be lost.
//   - Output is asked for in words and not held to a schema. Request.Extra is not sent.
//   - Without [agent.Request].Temperature its clients send 0, and without a limit ([MaxOutput]) its
//     Anthropic client stops after 2,048 tokens.
//   - Its Anthropic client re-encodes arguments and cannot return an empty answer.
package langchain
