package coding

import "context"

// Index finds code by meaning. luthier.CodingIndex creates one from a retrieval index. An Index
// must be safe for concurrent use.
type Index interface {
	// Search returns at most q.K places related to q.Text, the best first.
	Search(ctx context.Context, q IndexQuery) ([]Hit, error)
	// Features returns what else the index can do. It must return immediately, and always the same.
	Features() IndexFeatures
}

// IndexFeatures lists what an [Index] can do besides searching. The zero value describes an index
// that only searches: each tool also works if a feature is nil.
type IndexFeatures struct {
	// LeavesOutHeld reports whether Search leaves out the places in IndexQuery.Held.
	LeavesOutHeld bool

	// Changed receives the files that were written, moved or deleted. Without paths, a program has
	// run that may have changed any file. Changed must return immediately: a tool waits for it.
	Changed func(paths ...string)

	// State returns a note for the model about the current answers, or "" if all is well.
	State func() string

	// Map returns the most important definitions with their files, in at most tokens tokens.
	// Definitions related to the files near or to the words of text come first; both may be empty.
	// The repo_map tool is offered only if Map is set.
	Map func(ctx context.Context, tokens int, near []string, text string) (string, error)

	// Declaring returns the files that declare a name. Using returns the files that call something
	// of that name or use it as a type. Paths are slash-separated and relative to the workspace.
	// With these functions the symbols tool reads only those files; it reads them as they are now,
	// so the index may be out of date. An error means that the index is not ready; then, or if the
	// index knows no file, the tool reads all files.
	Declaring, Using NameFunc
}

// NameFunc returns the files in which an [Index] knows a name, slash-separated and relative to the
// workspace.
type NameFunc func(ctx context.Context, name string) ([]string, error)

// IndexQuery is a query from the search tool to an [Index].
type IndexQuery struct {
	Text string
	K    int          // maximum number of places
	Near []string     // files the session read or changed, the latest first: related places may rank higher
	Held []IndexRange // places the model already has, for an index that can leave them out
}

// IndexRange is a range of lines in a file, from 1, both ends included.
type IndexRange struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int
}

// Hit is one place an [Index] found.
type Hit struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int    // from 1, both included
	Symbol             string // the function, type or section that contains it, "" if unknown
	Score              float64
	Snippet            string // the text of the place, or "" to let the model read it
}

// indexFeatures returns the features of the workspace's index, or none if there is no index.
func (w *Workspace) indexFeatures() IndexFeatures {
	if w.cfg.Index == nil {
		return IndexFeatures{}
	}
	return w.cfg.Index.Features()
}
