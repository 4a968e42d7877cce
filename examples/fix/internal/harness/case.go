package harness

import (
	"context"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Case is a package with failing tests, and where edits to it are tried.
type Case interface {
	// Find runs the tests and tells what the failing ones say.
	Find(ctx context.Context) (*Finding, error)
	// Source returns the text of a file, named as in Finding.Ranked, without any edit.
	Source(file string) ([]byte, error)
	// Check says why the package does not compile when a file has this text, or nil.
	Check(ctx context.Context, file string, src []byte) error
	// Test runs the tests with an edit in place and takes it back. A package that does not compile
	// with it is an ErrCompile.
	Test(ctx context.Context, e *Edit) (*Verdict, error)
}

// Speller is a [Case] that knows which words the code of a package may have, so that edits with
// others need not be thought of.
type Speller interface {
	// Words returns the words of the package of a file, named as in Finding.Ranked; nil where they
	// are not known.
	Words(ctx context.Context, file string) *repair.Words
}

// Finding is what failing tests tell.
type Finding struct {
	Failed []string        // their names
	Output string          // what they printed
	Ranked []repair.Ranked // functions that may be at fault, best first
}

// Edit is one line of a function with another text.
type Edit struct {
	Number   int             // of the function in the report
	Function repair.Function // before the edit
	Line     int             // from 1 at the func line
	Old, New string          // the line, without indentation
	Before   []byte          // the file
	After    []byte
}

// Verdict is what the tests say about an edit.
type Verdict struct {
	OK     bool
	Failed []string // tests that still fail, or that fail now
}
