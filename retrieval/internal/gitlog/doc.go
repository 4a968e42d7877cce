// Package gitlog reads a repository's log for ranking: words of commit messages, how often and when
// a file changed, and which files change with it.
//
// [Open] reads the log once, keeps it in a cache file, and later reads only new commits. It runs
// the git program on the repository's objects only: neither the repository's configuration nor the
// user's is read, so that a hostile repository cannot run anything. If the program is not
// available, go-git reads the objects within a time limit.
//
// A repository that is absent, empty or broken is not an error: [Log.Status] reports the problem,
// and the log holds the commits that could be read.
//
// Only ancestors of the head count. The cache holds commits by their hash, with their parents. So a
// log that is opened at an old commit contains nothing newer, even if the cache does, and cached
// commits stay valid after the history is rewritten.
//
// Renames are found without reading contents, which partial clones lack: files in one commit are
// paired if their content hashes are equal, or else if their names are (see pairRenames).
package gitlog
