package reward

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// Verdict is the result of judging an edit.
type Verdict uint8

// The verdicts.
const (
	Unknown    Verdict = iota // the edit could not be judged: the tests do not notice the fault on this machine, or time ran out
	Refused                   // there is nothing to test: there is no such line, nothing changes, or the edit does not parse or compile
	StillFails                // tests fail with the edit
	Fixed                     // the tests pass with the edit
)

var verdicts = []string{"unknown", "refused", "still fails", "fixed"}

// String returns the verdict in words.
func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// MarshalText returns the verdict in words.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdicts {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("reward: read verdict: there is none called %q", text)
}

// A Candidate is an edit of one line of a task's broken function.
type Candidate struct {
	Task *verify.Task
	Line int    // counted from 1 at the func line
	Text string // the whole new line; its indentation is ignored
}

// Key returns a stable key for an edit: two candidates with the same key are the same edit.
func (c Candidate) Key() string {
	return fmt.Sprintf("%s\x00%d\x00%s", c.Task.ID, c.Line, strings.TrimSpace(c.Text))
}

// Judgement is a verdict with its reason.
type Judgement struct {
	Verdict Verdict
	Why     string `json:",omitempty"` // reason for Refused and Unknown; the failing tests for StillFails
	Ran     bool   `json:",omitempty"` // whether the tests were run for this judgement
}

func refused(format string, args ...any) Judgement {
	return Judgement{Verdict: Refused, Why: fmt.Sprintf(format, args...)}
}

// Glance judges a candidate without compiling anything, if that is enough. The original line is
// known to pass. A text is refused if it is not a single line, does not change the line, or does
// not parse.
func Glance(c Candidate) (j Judgement, decided bool) {
	lines := strings.Split(c.Task.Function.Text, "\n")
	text := strings.TrimSpace(c.Text)
	switch {
	case c.Line < 1 || c.Line > len(lines):
		return refused("there is no line %d; the function has lines 1 to %d", c.Line, len(lines)), true
	case strings.ContainsAny(c.Text, "\r\n"):
		return refused("the new text has a line break"), true
	case text == strings.TrimSpace(lines[c.Line-1]):
		return refused("line %d is so already", c.Line), true
	case c.Line == c.Task.Line && text == strings.TrimSpace(c.Task.Original):
		return Judgement{Verdict: Fixed}, true
	}
	lines[c.Line-1] = text
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+strings.Join(lines, "\n"), parser.SkipObjectResolution)
	if err != nil {
		return refused("it does not parse: %v", err), true
	}
	if len(file.Decls) != 1 {
		return refused("it is no longer one function"), true
	}
	return Judgement{}, false
}
