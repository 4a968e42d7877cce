// Package ignore decides which files of a work tree git would ignore.
//
// It implements gitignore(5) in the way git behaves, including quirks: nested .gitignore files,
// negation, ignored directories that hide all of their contents, .git/info/exclude, byte-wise
// wildcards, POSIX character classes and escaped trailing blanks. The tests compare it with `git
// check-ignore` on hand-picked and random cases. It does not use go-git's matcher because that
// differs from git: it ignores `\` at the start of a pattern, matches a negation without a slash
// inside a hidden directory, rejects `**` next to other text, and does not know POSIX classes.
//
// Matching takes time proportional to the product of the lengths of pattern and path, so a hostile
// .gitignore cannot stall a walk.
//
// # Limits
//
//   - core.excludesFile (a user's own rules, outside the work tree) is not read.
//   - core.ignoreCase is not read: matching is always case-sensitive.
package ignore
