package harness

import "fmt"

// Problem is a reason not to begin a repair, or to stop it, as a sentence for the user.
type Problem struct {
	Text string
	Err  error // the underlying error, if any
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the underlying error.
func (p *Problem) Unwrap() error { return p.Err }

func problem(format string, args ...any) error { return &Problem{Text: fmt.Sprintf(format, args...)} }
