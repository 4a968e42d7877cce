package gitlog

import (
	"context"
	"errors"
)

// source reads commits of a repository.
type source interface {
	// read yields commits newest first: ancestors of the wanted ones that are neither
	// of the known ones nor their ancestors, at most n. A source may also leave out what
	// has says is there, and then does not look at its ancestors.
	read(ctx context.Context, q reading, yield func(*rawCommit)) error
	// peel returns the hash of the commit that a name or a tag's hash is of.
	peel(ctx context.Context, name string) (string, error)
}

type reading struct {
	want, known []string // raw hashes
	n           int
	has         func(id string) bool
}

// errStopped is why a reading that ran out of time is not whole.
var errStopped = errors.New("reading took too long; the next Open goes on where it stopped")
