// Package gitlog reads a repository's log for ranking: words of commit messages, how often and when
// a file changed, and which files change with it.
//
// [Open] reads the log once, keeps it in a cache file, and later reads only what is new. It runs
// the git program over the repository's objects alone: neither its configuration nor the user's is
// read, so nothing in a hostile repository runs. Without the program, go-git reads the objects
// within a time limit.
//
// A repository that is absent, empty or broken is no error: [Log.Status] reports it, and the log
// holds what could be read.
//
// Only ancestors of the head count. The cache holds commits by their hash with their parents, so a
// log opened at an old commit sees nothing newer, even if the cache does, and a rewritten history
// makes nothing in it wrong.
//
// Renames are found without contents, which partial clones lack: equal contents by their hash, else
// equal names in one commit (see pairRenames).
package gitlog
