package digest

// Kind is what a fact is about.
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
	KindLine     Kind = "line" // kept for its rarity or for where it stands
)

// Fact is something that a digest kept.
type Fact struct {
	Kind Kind
	Text string
	Line int // in the raw output, from 1; 0 for the exit code
}

// Input is what a tool has written, and what is known of it.
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

// Digest keeps what matters of an output within a budget.
func Digest(in Input) Output {
	p := parse(in.Text)
	s := &selection{budget: in.Budget - in.Budget/7}
	s.collect(p, in)
	s.choose()
	return s.render()
}
