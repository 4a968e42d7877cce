package gitlog

import (
	"context"
	"errors"
)

// source reads commits of a repository.
type source interface {
	// read yields up to n commits, newest first: ancestors of the wanted commits that are neither
	// known nor ancestors of known ones. A source may also leave out commits for which has reports
	// true, and then does not visit their ancestors.
	read(ctx context.Context, q reading, yield func(*rawCommit)) error
	// peel returns the hash of the commit that a name or a tag's hash refers to.
	peel(ctx context.Context, name string) (string, error)
}

type reading struct {
	want, known []string // raw hashes
	n           int
	has         func(id string) bool
}

// errStopped means that a reading ran out of time and is incomplete.
var errStopped = errors.New("reading took too long; the next Open goes on where it stopped")
