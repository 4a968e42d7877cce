// Package applyplan brings a change to a directory in an order that leaves something
// sensible wherever it stops.
package applyplan

import (
	"errors"
	"fmt"
	"slices"
)

// Plan says how the steps of a change, each about one path, are taken. Steps come
// sorted by path, a directory before what is in it.
type Plan[S any] struct {
	Path func(S) string
	// Check reports whether nothing is left to do; an error that is Conflict means
	// that something is there that neither side knows.
	Check func(S) (done bool, err error)
	// Clear removes what is gone, or what stands where another kind of file comes.
	Clear func(S) error
	// Gone reports a step whose path is not there afterwards.
	Gone func(S) bool
	// Put writes what is there afterwards.
	Put func(S) error

	Conflict error
	Remedy   string // what to do after conflicts, as part of a sentence
}

// Apply looks first and writes then: where there is a conflict, nothing is written.
// What is deleted goes first, from the inside out, then the rest comes from the
// outside in.
func (p *Plan[S]) Apply(steps []S) error {
	var todo []S
	var conflicts []string
	for _, s := range steps {
		done, err := p.Check(s)
		if errors.Is(err, p.Conflict) {
			conflicts = append(conflicts, p.Path(s))
		} else if err != nil {
			return err
		}
		if !done {
			todo = append(todo, s)
		}
	}
	if len(conflicts) > 0 {
		return fmt.Errorf("%w in %d places, the first is %q; %s", p.Conflict, len(conflicts), conflicts[0], p.Remedy)
	}
	for i, s := range slices.Backward(todo) {
		if err := p.Clear(s); err != nil {
			return fmt.Errorf("after %d of %d changes: %w", len(todo)-1-i, len(todo), err)
		}
	}
	for _, s := range todo {
		if p.Gone(s) {
			continue
		}
		if err := p.Put(s); err != nil {
			return fmt.Errorf("%q: %w; the change is applied in part, exporting again goes on", p.Path(s), err)
		}
	}
	return nil
}
