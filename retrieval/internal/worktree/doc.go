// Package worktree finds the files of a work tree that are worth indexing, tells what kind each is,
// and tells what changed since.
//
// [Scan] lists a tree by git's ignore rules ([internal/ignore]) and leaves out what no search
// should return: binary and minified files, very large ones, caches of tools. Each file carries
// [Class] flags (test, generated, vendored, …) for whoever ranks results. [Diff] compares two scans
// by what stat tells of a file, [Root.ReadFile] reads one together with that, and [Watch] reports
// changes as they happen.
//
// What stat tells is trusted as git trusts it: a file is taken as unchanged when size, times and
// inode are the same, unless its time stamp is so young that a second change could have left it the
// same; such a file is marked [File.Racy] and has to be read again.
//
// Symbolic links are never followed, neither as files nor as directories on the way to one.
package worktree
