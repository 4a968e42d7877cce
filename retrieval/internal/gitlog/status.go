package gitlog

import "time"

// State is the outcome of opening a log.
type State uint8

const (
	// Ready means that the log was read.
	Ready State = iota
	// NoRepository means that the directory is not in a repository.
	NoRepository
	// Empty means that the repository has no commit yet.
	Empty
	// NoHead means that the requested head is not a commit of the repository.
	NoHead
	// Broken means that the repository could not be read, or not completely. The commits read
	// count; of commits whose changes are lost, only the messages count.
	Broken
	// Unfinished means that reading took too long. The commits read count, and the next Open
	// continues from there if there is a cache.
	Unfinished
)

func (s State) String() string {
	return [...]string{"ready", "no repository", "empty", "no such head", "broken", "unfinished"}[s]
}

// Status describes how a log was read.
type Status struct {
	State State
	// Reason explains the state: the error, or the missing part.
	Reason string
	// GitDir is the directory of this work tree's repository; CommonDir is the one that all work
	// trees of the repository share.
	GitDir, CommonDir string
	// Prefix is the path of the directory within its work tree, with a final slash; files outside
	// it are left out.
	Prefix string
	// Head is the commit whose ancestors count, in hex.
	Head string
	// Bare, Worktree and Shallow describe the kind of repository.
	Bare, Worktree, Shallow bool
	// GoGit reports that the log was read without the git program, which is slower.
	GoGit bool
	// Limited reports that there are older commits, which do not count.
	Limited bool
	// Commits is the number of commits that count, and Files the number of files they name.
	Commits, Files int
	// Read is the number of commits read now, and Cached the number found in the cache.
	Read, Cached int
	// Cache is the reason why the cache was not used or not written; empty if there was no problem.
	Cache string
	// Took is the duration of opening the log.
	Took time.Duration
}
