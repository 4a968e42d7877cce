// Package applyplan applies changes to a directory in an order that leaves a sensible state
// wherever it stops.
package applyplan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Plan defines how to take the steps of a change, each about one path. Steps come sorted by path, a
// directory before its contents.
type Plan[S any] struct {
	Path func(S) string
	// Check reports whether nothing is left to do. It returns Conflict if the path has content that
	// neither side knows.
	Check func(S) (done bool, err error)
	// Clear removes what is deleted, or what must make way for another kind of file.
	Clear func(S) error
	// Gone reports a step whose path does not exist afterwards.
	Gone func(S) bool
	// Put writes the new content.
	Put func(S) error

	Conflict error
	Remedy   string // advice after conflicts, as part of a sentence
}

// Apply first checks all steps and then writes; if there is a conflict, it writes nothing. It
// deletes first, from the inside out, and then writes the rest from the outside in.
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
		return fmt.Errorf("%w: %s; %s", p.Conflict, quoted(conflicts), p.Remedy)
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

// mostNamed is the most paths that an error names.
const mostNamed = 20

// quoted lists paths for an error.
func quoted(paths []string) string {
	var b strings.Builder
	for i, path := range paths[:min(len(paths), mostNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(path))
	}
	if more := len(paths) - mostNamed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
