package gitlog

import "time"

// State says in one word what came of opening a log.
type State uint8

const (
	// Ready means that the log was read.
	Ready State = iota
	// NoRepository means that the directory is in none.
	NoRepository
	// Empty means that the repository has no commit yet.
	Empty
	// NoHead means that the head asked for is no commit of the repository.
	NoHead
	// Broken means that the repository could not be read, or not all of it; what was
	// read counts, and of commits whose changes are lost the messages do.
	Broken
	// Unfinished means that reading took too long; what was read counts, and the next
	// Open goes on from there if there is a cache.
	Unfinished
)

func (s State) String() string {
	return [...]string{"ready", "no repository", "empty", "no such head", "broken", "unfinished"}[s]
}

// Status says what a log was made of.
type Status struct {
	State State
	// Reason says more in words: what is wrong, or what could not be had.
	Reason string
	// GitDir is the repository's directory and CommonDir that which its work trees share.
	GitDir, CommonDir string
	// Prefix is where the directory lies within its work tree, with a final slash;
	// files outside it are left out.
	Prefix string
	// Head is the commit whose ancestors count, in hex.
	Head string
	// Bare, Worktree and Shallow say what sort of repository it is.
	Bare, Worktree, Shallow bool
	// GoGit says that the log was read without the git program, which is slower.
	GoGit bool
	// Limited says that there are older commits, which do not count.
	Limited bool
	// Commits count, and Files are named by them.
	Commits, Files int
	// Read is how many commits were read now, and Cached how many stood in the cache.
	Read, Cached int
	// Cache is why the cache was not used or not written; empty if all went well.
	Cache string
	// Took is how long it took to open.
	Took time.Duration
}
