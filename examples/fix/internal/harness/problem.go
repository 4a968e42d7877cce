package harness

import "fmt"

// Problem is a reason not to begin a repair, or not to go on, in a sentence for the person who
// asked for it.
type Problem struct {
	Text string
	Err  error // beneath it, if any
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the error beneath.
func (p *Problem) Unwrap() error { return p.Err }

func problem(format string, args ...any) error { return &Problem{Text: fmt.Sprintf(format, args...)} }
