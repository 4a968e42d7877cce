// Package worktree finds the files of a work tree that are worth indexing, classifies each, and
// reports changes.
//
// [Scan] lists a tree by git's ignore rules ([internal/ignore]) and leaves out files that no search
// should return: binary, minified and very large files, and caches of tools. Each file carries
// [Class] flags (test, generated, vendored, …) for the ranking of results. [Diff] compares two
// scans by the stat data of files, [Root.ReadFile] reads a file together with its stat data, and
// [Watch] reports changes as they happen.
//
// Stat data is trusted in the same way as git does it: a file counts as unchanged if its size,
// times and inode are the same. The exception is a file with such a recent time stamp that another
// change might not alter it; this file is marked as [File.Racy] and has to be read again.
//
// Symbolic links are never followed, whether they point to files or occur as directories in a path.
package worktree
