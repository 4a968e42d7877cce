// Package toolformat stands between conversations and a language model's text.
//
// On the way in, a [Template] renders a [Conversation] with the chat template
// of a model, after fitting the messages to what that template can take. On the
// way out, a [Format] knows how the model writes its reasoning and its tool
// calls: [Detect] finds it from the template, [Format.NewParser] reads the
// model's text as it streams, and [Format.Grammar] describes the same calls for
// constrained decoding.
//
// A format is data, one entry of the table in formats.go. To teach the package
// a new one, add an entry: its markers, where the name stands and which of five
// argument syntaxes it uses. Nothing else has to change.
//
// The parser never loses text. What is neither reasoning nor a call is content;
// what follows the calls is trailing text; a call that was cut off or cannot be
// read is reported as such, with the text it came from, and must not be run.
package toolformat
