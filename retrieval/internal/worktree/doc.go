// Package worktree finds the files of a work tree that are worth indexing, classifies each, and
// reports changes.
//
// [Scan] lists a tree by git's ignore rules ([internal/ignore]) and leaves out what no search
// should return: binary and minified files, very large ones, caches of tools. Each file carries
// [Class] flags (test, generated, vendored, …) for the ranking of results. [Diff] compares two
// scans by the stat data of files, [Root.ReadFile] reads a file together with its stat data, and
// [Watch] reports changes as they happen.
//
// Stat data is trusted as git trusts it: a file counts as unchanged if size, times and inode are
// the same, unless its time stamp is so young that a second change could have left it the same;
// such a file is marked [File.Racy] and has to be read again.
//
// Symbolic links are never followed, neither as files nor as directories on the way to one.
package worktree
