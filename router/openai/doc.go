// Package openai is an [agent.Model] for OpenAI and for every server that speaks its chat
// completions API: vLLM, llama.cpp, Ollama, LM Studio, SGLang, DeepSeek, OpenRouter, Groq, Mistral
// and so on. Where the server has the Responses API, set [Config.API] to [Responses] to keep
// encrypted reasoning between steps.
//
//	model, err := openai.New(openai.Config{Model: "gpt-5"})                                          // key from OPENAI_API_KEY
//	model, err := openai.New(openai.Config{Model: "qwen3-coder", BaseURL: "http://localhost:8000/v1"}) // a local server
//
// # What is sent
//
// A request's messages are the last field of the body and are written message by message, so that
// the body of the next request starts with the bytes of this one and prompt caches hit. Text,
// images, tool calls and results map one to one. What the chat API has no place for is handled as
// follows: several results in one message become several tool messages; an image in a result
// follows them in a user message; a failed result's text begins with "Error:"; arguments that were
// not JSON are wrapped so that servers which parse them do not refuse the conversation; reasoning
// goes back as [Config.Reasoning] says; parts of other providers are left out.
//
// # What is fitted
//
// Servers differ in the histories that they take. Calls get ids that are unique in the request and
// as short as the server wants; a call without a result gets one that says so, and a result without
// its call becomes text. Fields that a server put on a call, such as Gemini's signature, go back
// with it, and to no other server. Mistral's and Google's open models get turns of user and
// assistant.
//
// A server that refuses the form of the history often names the one that it takes: turns, reasoning
// that is missing or not accepted, ids of calls. The request is then sent again in that form, at
// most three times, and later requests of the Model begin with it. Fields of Config that fix a form
// win.
//
// # What is read
//
// Servers differ in how they stream. The decoder takes tool calls without index or id (it gives
// them ids that are the same in every replay), several calls under one index, calls announced with
// empty arguments, fields repeated in every delta, arguments as objects, whole answers instead of
// streams, usage before, with or after the finish, counts as floats or text, and reasoning in any
// of the fields in use. It never takes a stream that ends without a finish_reason for an answer,
// does not drop an event it cannot read, and refuses arguments that could belong to either of two
// calls.
//
// # Errors
//
// Every error is an [*agent.ModelError] with its kind, status, Retry-After and request id, and the
// provider's words bounded in length. No failure is retried here: the agent's loop retries.
//
// # The SDK
//
// Requests go through github.com/openai/openai-go/v3: base URL, credentials, organisation headers,
// redirect rules, and any of its options ([Config.Options]), such as those of its azure package.
// This package writes bodies and reads streams itself; router/RATIONALE.md gives the reasons.
//
// # Limits
//
//   - The package was not run against a live server. The streams in testdata are written by hand
//     after the servers they name; the tests also decode recorded traffic of 30 servers.
//   - A prompt that is too long is recognised by sizes and words of the refusal. A server that only
//     says "bad request" is understood if [Config.MaxContext] is set.
//   - Some servers (TGI, OpenAI) report a MaxOutput that is too large in the words of a prompt that
//     is too long; the error is then [agent.ErrContextLength].
//   - A call without arguments starts when the answer ends: until then its arguments may still
//     come.
//   - The chat API replays no signed reasoning and no redacted reasoning.
//   - The Responses API takes no stop texts (refused), no seed (ignored) and no redacted reasoning.
//     Stored conversations (previous_response_id) are not used, by choice.
//   - [Config.StrictTools] is off by default, because strict mode turns optional fields into
//     required nullable ones.
package openai
