// Package toolformat translates between conversations and a language model's text.
//
// For the prompt, a [Template] renders a [Conversation] with the chat template of a model, after
// converting the messages to a form that the template accepts. For the answer, a [Format] describes
// the way in which the model writes its reasoning and its tool calls: [Detect] determines it from
// the template, [Format.NewParser] reads the model's text as it streams, and [Format.Grammar]
// describes the same calls for constrained decoding.
//
// A format is data, one entry of the table in formats.go. To support a new format, add an entry
// with its markers, the position of the name, and one of five argument syntaxes. Nothing else has
// to be changed.
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
//   - In grammars, allOf, not, if, and a pattern together with a length on unquoted strings are
//     UnsupportedErrors. A string that may also be an object or a list must not look like one.
//     Keys that a schema does not list are accepted in JSON, and not in Python literals, tags or
//     loose objects (Gemma).
//   - Ids made by the parser repeat from message to message unless ParserOptions.NewID is set.
//   - LFM2 models that were asked to write their calls as JSON are not read.
//   - Not in the table: Hy3, Solar Open, FunctionGemma, Granite 20B FC, Hunyuan A13B, InternLM2,
//     Jamba, xLAM. Their templates are detected as hermes-json.
//   - XML entities in parameters of MiniMax and Qwen are not decoded, because the templates do not
//     encode them. Values in them are not trimmed beyond the line breaks of the layout.
package toolformat
