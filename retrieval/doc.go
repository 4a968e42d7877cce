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
// (BM25F); paths and modules that the text mentions; the files that commits with similar messages
// changed (from the git log, if there is one); whether a file is a test, an example or generated. A
// linear model combines these features; its weights were learned from issues and fixes of
// open-source projects and come with the package. An [Embedder] adds a model's vectors; it is
// optional.
//
// # How it stays fresh
//
// The index is on disk, outside the tree, and all processes that search the same tree share it.
// Open checks the times of every file and brings the index up to date; [Index.Update] indexes
// single files in milliseconds, and [Config.Watch] does so automatically. A search that finds a
// changed file indexes it and searches again.
//
// # Trees without a path
//
// [OpenTree] indexes a workspace that can be opened but has no path here, such as that of a
// sandbox. Its index is kept by the ID of the tree. That of a fork begins with the index of its
// origin and reads only the files that look different.
//
// # What it trusts
//
// Files are only read, symbolic links are never followed, and nothing of the tree is run. git is
// used only to read objects, without the repository's configuration. For a [Tree], in which
// commands may write, it reads only [Config.GitDir]. Whoever can write the cache directory decides
// what is found.
//
// # Limits
//
//   - Files larger than 1 MiB (Config.MaxFileSize), minified files and binary files are not
//     indexed. Status lists them.
//   - Without [Config.Watch] or [Index.Update], Grep does not see changes since the last look at
//     the tree.
//   - References are found by name alone, without types.
//   - With an index, the symbols tool looks into generated files only if no other file has the name
//     or if a path is given.
//   - A search for several texts at once (if|for|switch) takes up to 1.3 times the processor time
//     of ripgrep, which uses SIMD.
//   - In words, only ASCII capitals are lower-cased. Prototypes of C, subs of Perl and headings of
//     reStructuredText do not begin a chunk.
//   - The weight of an embedder's vectors relative to the other features is chosen, not learned: no
//     embedding model with real weights was available.
//   - router/moe runs causal embedding models (Qwen3-Embedding), not BERT-like ones. With a server,
//     any model can be used.
//   - On Windows, indexes are read instead of mapped. The file locks for Windows were compiled but
//     never run.
//
// # Terms
//
//   - chunk: a range of lines of about the size of a function; the unit that is scored and
//     returned.
//   - layer: one of the parts of an index that are built and stored separately: words, trigrams,
//     symbols.
//   - segment: a file of a layer that never changes. See internal/codestore.
//   - view: one weighting of a query's words. See internal/ranking.
//   - gitlog: the commits, messages and changed files of the git log.
package retrieval
