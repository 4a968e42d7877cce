// Package retrieval finds the places of a large tree that matter for a task, without a network and
// without a model.
//
//	x, err := retrieval.Open(ctx, dir, retrieval.Config{})
//	defer x.Close()
//	hits, err := x.Search(ctx, retrieval.Query{Text: "where are retries with a Retry-After header counted?"})
//
// The text may be a question, a whole issue with its stack trace, or the title of a commit. Each
// [Hit] is a place of about the size of a function, with its text and the reasons for which it was
// found.
//
// # What it looks at
//
// Words and parts of identifiers in code, comments, strings, names of definitions and paths
// (BM25F); what the text mentions by path or module; which files commits with such messages changed
// (from the git log, if there is one); whether a file is a test, an example or generated. A linear
// model joins these; its weights were learned from issues and fixes of open-source projects and
// come with the package. An [Embedder] adds a model's vectors; it is optional.
//
// # How it stays fresh
//
// The index is on disk, outside the tree, and all processes that search the same tree share it.
// Open brings it up to date by looking at every file's times; [Index.Update] takes in single files
// in milliseconds, and [Config.Watch] does so automatically. A search that meets a changed file
// takes it in and searches again.
//
// # What it trusts
//
// Files are only read, symbolic links are never followed, and nothing of the tree is run. git is
// used only to read objects, without the repository's configuration. Whoever can write the cache
// directory decides what is found.
//
// # Limits
//
//   - Files larger than 1 MiB (Config.MaxFileSize), minified files and binary files are not
//     indexed. Status lists them.
//   - Without [Config.Watch] or [Index.Update], Grep does not see changes since the last look at
//     the tree.
//   - References go by names alone and do not know types.
//   - With an index, the symbols tool looks into generated files only if no other file has the name
//     or if a path is given.
//   - A search for several texts at once (if|for|switch) takes up to 1.3 times the processor time
//     of ripgrep, which uses SIMD.
//   - Capitals beyond ASCII are not lowered in words. Prototypes of C, subs of Perl and headings of
//     reStructuredText begin no chunk.
//   - The weight of an embedder's vectors relative to the other features is chosen, not learned: no
//     embedding model with real weights was available.
//   - router/moe runs causal embedding models (Qwen3-Embedding), not BERT-like ones. A server runs
//     any.
//   - On Windows indexes are read instead of mapped. Its file locks were compiled, not run.
//
// # Terms
//
//   - chunk: a range of lines of about a function; the unit that is scored and returned.
//   - layer: one of the parts of an index that are built and stored separately: words, trigrams,
//     symbols.
//   - segment: a file of a layer that never changes. See internal/codestore.
//   - view: one weighting of a query's words. See internal/ranking.
//   - gitlog: what the git log says about files.
package retrieval
