package reward

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// Verdict says what became of an edit.
type Verdict uint8

// The verdicts.
const (
	Unknown    Verdict = iota // it could not be judged: the tests do not notice the fault here, or time ran out
	Refused                   // nothing to test: no such line, nothing changes, it does not parse or does not compile
	StillFails                // tests fail with it
	Fixed                     // the tests pass with it
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
	Text string // the whole new line; its indentation does not matter
}

// Key names an edit for good: two candidates of one key are the same edit.
func (c Candidate) Key() string {
	return fmt.Sprintf("%s\x00%d\x00%s", c.Task.ID, c.Line, strings.TrimSpace(c.Text))
}

// Judgement is a verdict with its reason.
type Judgement struct {
	Verdict Verdict
	Why     string `json:",omitempty"` // of Refused and Unknown; of StillFails the failing tests
	Ran     bool   `json:",omitempty"` // the tests ran to find out
}

func refused(format string, args ...any) Judgement {
	return Judgement{Verdict: Refused, Why: fmt.Sprintf(format, args...)}
}

// Glance judges a candidate without compiling anything, if that is enough: the line as it was
// before it was broken is known to pass, and what is not one different line or does not parse is
// refused.
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
