package harness

import (
	"context"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Case is a package with failing tests, and a place to try edits to it.
type Case interface {
	// Find runs the tests and returns what the failing ones report.
	Find(ctx context.Context) (*Finding, error)
	// Source returns the text of a file without any edit. The file is named as in Finding.Ranked.
	Source(file string) ([]byte, error)
	// Check returns the reason why the package does not compile if a file has this text, or nil if
	// it compiles.
	Check(ctx context.Context, file string, src []byte) error
	// Test runs the tests with an edit applied and reverts it. If the package does not compile with
	// it, the error is an ErrCompile.
	Test(ctx context.Context, e *Edit) (*Verdict, error)
}

// Speller is a [Case] that knows which words the code of a package may contain, so that edits with
// others need not be considered.
type Speller interface {
	// Words returns the words of the package of a file, named as in Finding.Ranked. It returns nil
	// if they are not known.
	Words(ctx context.Context, file string) *repair.Words
}

// Finding holds the results of the failing tests.
type Finding struct {
	Failed []string        // their names
	Output string          // what they printed
	Ranked []repair.Ranked // functions that may be at fault, best first
}

// Edit replaces one line of a function.
type Edit struct {
	Number   int             // of the function in the report
	Function repair.Function // before the edit
	Line     int             // from 1 at the func line
	Old, New string          // the line, without indentation
	Before   []byte          // the file before the edit
	After    []byte
}

// Verdict is the result of the tests for an edit.
type Verdict struct {
	OK     bool
	Failed []string // tests that still fail, or that fail now
}
