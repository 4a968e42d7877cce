// Package ignore decides which files of a work tree git would ignore.
//
// It follows gitignore(5) as git itself behaves, quirks included: nested .gitignore files,
// negation, directories that hide all they hold, .git/info/exclude, byte-wise wildcards, POSIX
// character classes and escaped trailing blanks. The tests compare it with `git check-ignore` over
// hand-picked and random cases; that is also why it is not go-git's matcher, which differs (it
// ignores `\` at a pattern's front, matches a slashless negation inside a hidden directory, rejects
// `**` joined to other text, and knows no POSIX classes).
//
// Matching is linear in pattern × path, so a hostile .gitignore cannot stall a walk.
//
// # Limits
//
//   - core.excludesFile (a person's own rules, outside the work tree) is not read.
//   - core.ignoreCase is not read: matching is always case-sensitive.
package ignore
