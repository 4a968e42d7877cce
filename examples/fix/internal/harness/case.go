package harness

import (
	"context"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Case is a package with failing tests, and a place to try edits to it.
type Case interface {
	// Find runs the tests and returns the reports of the failing ones.
	Find(ctx context.Context) (*Finding, error)
	// Source returns the text of a file without any edit. The file name has the form used in
	// Finding.Ranked.
	Source(file string) ([]byte, error)
	// Check returns the reason why the package does not compile with src as the text of the file,
	// or nil if it compiles.
	Check(ctx context.Context, file string, src []byte) error
	// Test runs the tests with an edit applied and reverts it. If the package does not compile with
	// the edit, the error is an ErrCompile.
	Test(ctx context.Context, e *Edit) (*Verdict, error)
}

// Speller is a [Case] that knows which words the code of a package may contain, so that edits with
// other words need not be considered.
type Speller interface {
	// Words returns the words of the package that contains a file, whose name has the form used in
	// Finding.Ranked. It returns nil if they are not known.
	Words(ctx context.Context, file string) *repair.Words
}

// Finding holds the results of the failing tests.
type Finding struct {
	Failed []string        // names of the failing tests
	Output string          // output of the failing tests
	Ranked []repair.Ranked // functions that may be at fault, best first
}

// Edit replaces one line of a function.
type Edit struct {
	Number   int             // number of the function in the report
	Function repair.Function // the function before the edit
	Line     int             // line number, counted from 1 at the func line
	Old, New string          // the line, without indentation
	Before   []byte          // the file before the edit
	After    []byte
}

// Verdict is the result of the tests for an edit.
type Verdict struct {
	OK     bool
	Failed []string // tests that fail with the edit, whether or not they failed before
}
