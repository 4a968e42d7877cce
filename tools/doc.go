// Package tools turns Go functions into tools that a language model can call, and keeps them in a
// [Registry].
//
//	type In struct {
//		Path  string `json:"path" jsonschema:"description=file to count, relative to the workspace"`
//		Limit int    `json:"limit,omitempty" jsonschema:"minimum=1"`
//	}
//	count, err := tools.New("count_lines", "Counts the lines of a file.",
//		func(ctx context.Context, in In) (int, error) { ... },
//		tools.WithCallEffects(func(in In) agent.Effects { return agent.ReadOnly(in.Path) }))
//
// A tool from [New] is an [agent.Tool]: give it to an agent directly, or through a registry, whose
// set of tools may change while agents run.
//
// # What happens to a call
//
// Models write arguments that are nearly right. [New] and [Registry.Call] repair what has one
// reading, report the repair to the model, and refuse the rest with every fault and the correct
// shape, so that the next attempt can succeed:
//
//  1. The JSON is read. Trailing commas, single quotes, Python literals, Markdown fences, unescaped
//     quotes and line breaks are repaired. Text that was cut off or has two readings is refused:
//     nothing ever runs on half a call.
//  2. It is validated against the schema, formats included.
//  3. What fails validation is coerced: JSON or a number given as text, null for an optional
//     argument, one value for a list, an argument in another spelling (filePath for file_path), an
//     argument that does not exist.
//  4. Defaults are filled in and everything is validated again.
//  5. The arguments are decoded, [WithCheck] may still refuse them, and the function runs.
//  6. Its result becomes text: bytes that are not UTF-8 are replaced, and what exceeds the limit is
//     put into an [agent.ArtifactStore] with a handle that the read_artifact tool
//     ([NewReadArtifact]) takes.
//
// A registry also contains the faults of a tool: a panic is a failed result, and a call that
// ignores its time limit gets a result and is left behind, see [Registry.Abandoned].
//
// # Schemas
//
// The schema of In is made once, from its fields, by github.com/invopop/jsonschema; see [New] for
// what the fields may be. Providers take different subsets of JSON Schema, and backends rewrite it
// with [EmitSchema].
//
// # Limits
//
//   - In the dialect for llama.cpp, bounds of numbers and patterns are words in the description,
//     not part of the grammar.
//   - A directory of artifacts ([NewDirStore]) is never pruned.
//   - A registry that changes during a session changes the beginning of the next request, so the
//     prompt cache misses once.
//   - Of the recorded repairs, one expects words to be dropped that are kept here, and one hides
//     its brackets in a line comment and is refused.
package tools
