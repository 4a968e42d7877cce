// Package retrieval finds the few places of a large tree that matter for a task,
// without a network and without a model.
//
//	x, err := retrieval.Open(ctx, dir, retrieval.Config{})
//	defer x.Close()
//	hits, err := x.Search(ctx, retrieval.Query{Text: "where are retries with a Retry-After header counted?"})
//
// The text may be a question, a whole issue with its stack trace, or the title of a
// commit. Each [Hit] is a place of about a function with its text, and says why it was
// found.
//
// # What it looks at
//
// Words and parts of identifiers in code, comments, strings, names of definitions and
// paths (BM25F); what the text mentions by path or module; which files commits with
// such messages changed (from the git log, if there is one); whether a file is a test,
// an example or generated. A linear model joins these; its weights were learned from
// issues and fixes of open-source projects and come with the package. An [Embedder]
// adds a model's vectors; it is never needed.
//
// # How it stays fresh
//
// The index lies on disk, outside of the tree, and is shared by all processes that
// search the same one. Open brings it up to date by looking at every file's times;
// [Index.Update] takes in single files in milliseconds, and [Config.Watch] does so by
// itself. A search that runs into a file which changed since takes it in and searches
// again.
//
// # What it trusts
//
// Files are only read, symbolic links never followed, and nothing of the tree is run:
// of git, only plumbing that reads objects, without the repository's configuration.
// Whoever can write the cache directory decides what is found.
package retrieval
