package digest

import (
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

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

// Digest keeps the important parts of an output within a budget. An output in which nothing certain
// is found is kept whole if it fits.
func Digest(in Input) Output {
	p := parse(in.Text)
	s := &selection{budget: in.Budget - in.Budget/7, from: &numbered{text: in.Text}}
	if s.collect(p, in) {
		if out, ok := entire(in); ok {
			return out
		}
	}
	s.choose()
	return s.render()
}

// entire returns the output as it is, without terminal control, if it is within the budget.
func entire(in Input) (Output, bool) {
	if len(in.Text) > 16*in.Budget { // no token is that long on average
		return Output{}, false
	}
	text := strings.ToValidUTF8(ansi.Strip(in.Text), "\uFFFD")
	var facts []Fact
	if in.ExitCode != 0 {
		line := "exit code " + strconv.Itoa(in.ExitCode)
		facts = append(facts, Fact{KindExit, line, 0})
		text = line + "\n" + text
	}
	n := tokencount.Estimate(text)
	if n > in.Budget {
		return Output{}, false
	}
	for i, line := range strings.Split(text, "\n")[len(facts):] {
		if strings.TrimSpace(line) != "" {
			facts = append(facts, Fact{KindLine, line, i + 1})
		}
	}
	return Output{text, n, facts}, true
}
