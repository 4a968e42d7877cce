package coding

import "context"

// Index finds code by meaning. luthier.CodingIndex makes one of a retrieval index. It must be safe
// for concurrent use.
type Index interface {
	// Search returns at most q.K places that have to do with q.Text, the best first.
	Search(ctx context.Context, q IndexQuery) ([]Hit, error)
	// Features returns what else the index can do. It always returns the same, and at once.
	Features() IndexFeatures
}

// IndexFeatures lists what an [Index] can do besides searching. The zero value describes an index
// that only searches: a tool works without a feature that is nil.
type IndexFeatures struct {
	// LeavesOutHeld says that Search leaves out the places of IndexQuery.Held.
	LeavesOutHeld bool

	// Changed receives the files that were written, moved or deleted; without paths a program has
	// run, which may have changed any. It must return at once: a tool waits for it.
	Changed func(paths ...string)

	// State returns in words what the model should know of the answers of this moment, "" when all
	// is well.
	State func() string

	// Map returns the most important definitions with their files, in at most so many tokens. Those
	// that have to do with the files near, or with the words of text, come first; both may be
	// empty. With it the repo_map tool is offered.
	Map func(ctx context.Context, tokens int, near []string, text string) (string, error)

	// Declaring returns the files that declare a name, and Using those that call what has a name or
	// use it as a type, slash-separated and relative to the workspace. With them the symbols tool
	// reads those files alone; it reads them as they are now, so that the index need not be of this
	// moment. An error means that the index cannot tell yet, and then, or when it knows no file,
	// the tool reads all.
	Declaring, Using NameFunc
}

// NameFunc returns the files in which an [Index] knows a name, slash-separated and relative to the
// workspace.
type NameFunc func(ctx context.Context, name string) ([]string, error)

// IndexQuery is a question of the search tool to an [Index].
type IndexQuery struct {
	Text string
	K    int          // how many places at most
	Near []string     // files the session read or changed, the latest first: what belongs to them may count more
	Held []IndexRange // places the model has already, for an index that leaves them out
}

// IndexRange is some lines of a file, from 1 and both included.
type IndexRange struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int
}

// Hit is one place an [Index] found.
type Hit struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int    // from 1, both included
	Symbol             string // the function, type or section it lies in, "" when unknown
	Score              float64
	Snippet            string // the text of the place, "" to let the model read it
}

// indexFeatures returns what the workspace's index can do, nothing where there is none.
func (w *Workspace) indexFeatures() IndexFeatures {
	if w.cfg.Index == nil {
		return IndexFeatures{}
	}
	return w.cfg.Index.Features()
}
