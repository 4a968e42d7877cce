// Package anthropic is the native backend for Claude: an [agent.Model] on the Anthropic Messages
// API, or on any server that speaks it.
//
//	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"}) // key from ANTHROPIC_API_KEY
//
// # What is mapped
//
// Text, images (by content or address), thinking with its signature and redacted thinking (both
// replayed byte for byte), tool calls and results (several results in one turn, images in results),
// tool choice, stop texts, structured output, effort, and usage with cache reads and writes. Blocks
// this package does not know, such as those of tools that run on the provider's side, become
// [agent.Opaque] parts that survive the round trip.
//
// # What is repaired
//
// The API refuses histories that agents do produce. Every rule below depends only on what came
// before it in the history, so a longer history encodes to the same bytes and the provider's prompt
// cache keeps hitting:
//
//   - Messages of one role in a row become one turn, tool results come first in theirs, and texts
//     without a visible character are left out.
//   - A call without a result gets a result that says so; a result without its call becomes text.
//   - Ids and names from other providers are rewritten to the characters the API takes, unique
//     within the request.
//   - Arguments that are not a JSON object are wrapped in one. Opaque parts of other providers are
//     not sent. Thinking without a signature goes back only to servers that sign nothing.
//   - The spaces at the end of an assistant's text are cut: the API refuses them at the end of a
//     history.
//   - A history with calls is sent with declarations of their tools even when the request offers
//     none.
//
// A server may refuse the form of a history and name the one that it takes: thinking that is
// missing or that another account signed, ids of calls. The request is then sent once more in that
// form, and later requests begin with it.
//
// # Prompt cache
//
// Four markers: the last tool, the system prompt, and the ends of the last two user turns. The
// second of these is where the previous request had its last marker, so each step of a loop reads
// the whole prefix from the cache.
//
// # How far the SDK is used
//
// Transport, authentication, headers, addresses and HTTP errors come from
// github.com/anthropics/anthropic-sdk-go. This package writes the request body and reads the event
// stream, because of three traits of the SDK that no option turns off (each is pinned by a test in
// this package): it re-encodes raw JSON, so opaque parts would not come back unchanged; it writes
// the extra fields of a tool's schema in random order, which moves the bytes of the cached prefix;
// and it drops events that carry no "event:" line, which compatible servers send.
//
// # Limits
//
//   - The package was not run against the live API: rules come from its documentation, error texts
//     and SDK types.
//   - Signed thinking whose Provider is empty is sent as it is.
//   - The stop_details of a refusal are not passed on: [agent.Finish] has no place for them.
package anthropic
