package digest

// Kind is the subject of a fact.
type Kind string

// The kinds of facts.
const (
	KindTest     Kind = "failing test"
	KindError    Kind = "error"
	KindFrame    Kind = "frame"
	KindPlace    Kind = "location"
	KindExpected Kind = "expected/got"
	KindSummary  Kind = "summary"
	KindExit     Kind = "exit code"
	KindLine     Kind = "line" // kept because it is rare or because of its position
)

// Fact is a piece of information that a digest kept.
type Fact struct {
	Kind Kind
	Text string
	Line int // in the raw output, from 1; 0 for the exit code
}

// Input is the output of a tool, with the known facts about it.
type Input struct {
	Text     string
	ExitCode int
	Budget   int // tokens
}

// Output is a digest.
type Output struct {
	Text   string
	Tokens int
	Facts  []Fact
}

// Digest keeps the important parts of an output within a budget.
func Digest(in Input) Output {
	p := parse(in.Text)
	s := &selection{budget: in.Budget - in.Budget/7}
	s.collect(p, in)
	s.choose()
	return s.render()
}
