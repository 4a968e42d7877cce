// Package toolformat translates between conversations and a language model's text.
//
// For the prompt, a [Template] renders a [Conversation] with the chat template of a model, after
// fitting the messages to what that template can take. For the answer, a [Format] knows how the
// model writes its reasoning and its tool calls: [Detect] finds it from the template,
// [Format.NewParser] reads the model's text as it streams, and [Format.Grammar] describes the same
// calls for constrained decoding.
//
// A format is data, one entry of the table in formats.go. To teach the package a new one, add an
// entry: its markers, where the name stands and which of five argument syntaxes it uses. Nothing
// else has to change.
//
// The parser never loses text. Text that is neither reasoning nor a call is content; text after the
// calls is trailing text; a call that was cut off or cannot be read is reported with its text, and
// must not be run.
//
// # Limits
//
//   - Code after <|python_tag|> (the built-in interpreter of Llama 3.1 and Functionary 3.1) is read
//     as text, not as a call.
//   - Positional arguments make a Python call malformed.
//   - In grammars, maxLength on an unquoted string also forbids the first character of the closing
//     marker. A pattern is taken only if it is anchored and cannot match the marker. allOf, not and
//     if on unquoted strings are UnsupportedErrors. Loose arguments (Gemma) nest natively in lists
//     and strings; objects inside are JSON, which the parser also takes.
//   - Ids made by the parser repeat from message to message unless ParserOptions.NewID is set.
//   - Nested values that templates print with Python's repr (Seed-OSS, MiniCPM5: {'a': 1}) are
//     read, but grammars ask for JSON.
//   - Not in the table: Hy3, Solar Open, FunctionGemma, Granite 20B FC, Hunyuan A13B, InternLM2,
//     Jamba, xLAM. Their templates are detected as hermes-json.
//   - XML entities in parameters of MiniMax and Qwen are not decoded, because the templates do not
//     encode them. Values in them are not trimmed beyond the line breaks of the layout.
package toolformat
