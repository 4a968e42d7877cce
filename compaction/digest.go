package compaction

import "github.com/luthier-dev/luthier/internal/digest"

// ToolOutput is the output of a tool, with the tool's name and command line if they are known. Text
// alone is enough: Digest recognises the tools that wrote it from the text, section by section,
// since one log often holds the output of several tools.
type ToolOutput struct {
	Tool     string // the tool's name, may be empty
	Command  string // the command line, may be empty
	Text     string // standard output and standard error together, as they came
	ExitCode int
}

// Digested holds what Digest kept.
type Digested struct {
	Text   string // for a model to read; valid UTF-8
	Tokens int    // an estimate of Text's tokens, at most the budget
	Facts  []Fact // the lines of Text classified by kind, in the order of the text
}

// Fact is one thing that a digest kept: a failing test, an error, a frame, …
type Fact struct {
	Kind FactKind
	Text string
	Line int // line number in the raw output, from 1; 0 for the exit code
}

// FactKind is the kind of a [Fact], such as an error or a frame of a stack trace.
type FactKind string

// The kinds of facts.
const (
	FactTest     = FactKind(digest.KindTest)     // the name of a test that failed
	FactError    = FactKind(digest.KindError)    // the class and message of an error
	FactFrame    = FactKind(digest.KindFrame)    // a frame of a stack trace: the innermost, and the first that belongs to the project
	FactPlace    = FactKind(digest.KindPlace)    // file:line of a diagnostic
	FactExpected = FactKind(digest.KindExpected) // what a test expected, and what it got instead
	FactSummary  = FactKind(digest.KindSummary)  // counts of tests, the verdict of a build
	FactExit     = FactKind(digest.KindExit)     // the exit code, if it is not 0
	FactLine     = FactKind(digest.KindLine)     // a line kept because it is rare or because of its position
)

// Digest returns the important parts of a tool's output in at most budget tokens: exit code,
// summaries, the names of failed tests, errors with their class and message, the innermost stack
// frame and the first of the project, expected and actual values. It is deterministic, takes time
// linear in the text, and never fails: a budget that is too small for anything results in an empty
// text.
func Digest(out ToolOutput, budget int) Digested {
	d := digest.Digest(digest.Input{Text: out.Text, ExitCode: out.ExitCode, Budget: budget})
	facts := make([]Fact, len(d.Facts))
	for i, f := range d.Facts {
		facts[i] = Fact{Kind: FactKind(f.Kind), Text: f.Text, Line: f.Line}
	}
	return Digested{Text: d.Text, Tokens: d.Tokens, Facts: facts}
}
