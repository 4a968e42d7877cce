package worktree

import "strings"

// Class is a set of flags for the kind of a file, determined from its path and the beginning of its
// content.
type Class uint32

// The flags of a Class. A file may have several; an ordinary source file has none.
const (
	Binary    Class = 1 << iota // not text
	Minified                    // text that nobody reads
	Generated                   // made by a program; includes lock files
	Vendored                    // a copy of another project's work, or build output kept next to the source
	Test                        // tests and their files: fixtures, mocks, test data
	Example                     // examples, demos, samples
	Bench                       // benchmarks
	Doc                         // prose, and the files that belong to it
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

// HeadSize is the maximum number of bytes from the start of a file that Classify uses.
const HeadSize = 16 << 10

// Classify returns the kind of the file at path (slash-separated, below the root of its tree) whose
// content begins with head. If head is empty, only the path decides.
func Classify(path string, head []byte) Class {
	c := classifyPath(path)
	if c.Any(Binary) || len(head) == 0 {
		return c
	}
	return c | classifyHead(head[:min(len(head), HeadSize)], c)
}
