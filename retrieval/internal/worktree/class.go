package worktree

import "strings"

// Class is a set of flags that tell what kind of file a path and the beginning of its content show.
type Class uint32

// The flags of a Class. A file may have several; an ordinary source file has none.
const (
	Binary    Class = 1 << iota // no text
	Minified                    // text that no person reads
	Generated                   // made by a program, lock files too
	Vendored                    // a copy of another project's work, or built output kept beside the source
	Test                        // tests, and what they need: fixtures, mocks, test data
	Example                     // examples, demos, samples
	Bench                       // benchmarks
	Doc                         // prose, and what lies among it
	Config                      // settings
	Data                        // json, csv, translations, lock files, drawings
	Script                      // shell and batch scripts
	Build                       // how the project is built: makefiles, manifests, CI
	classes
)

// Has reports whether c has all flags of f.
func (c Class) Has(f Class) bool { return c&f == f }

// Any reports whether c has one of the flags of f.
func (c Class) Any(f Class) bool { return c&f != 0 }

func (c Class) String() string {
	names := []string{"binary", "minified", "generated", "vendored", "test", "example", "bench", "doc", "config", "data", "script", "build"}
	var set []string
	for i, name := range names {
		if c&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "code"
	}
	return strings.Join(set, "|")
}

// HeadSize is how many bytes from the front of a file Classify wants at most; more are not looked
// at.
const HeadSize = 16 << 10

// Classify tells what kind of file path is (slash-separated, below the root of its tree) whose
// content begins with head. An empty head leaves it to the path.
func Classify(path string, head []byte) Class {
	c := classifyPath(path)
	if c.Any(Binary) || len(head) == 0 {
		return c
	}
	return c | classifyHead(head[:min(len(head), HeadSize)], c)
}
