// Package shelleffects infers what a shell command would do, without running it.
//
// [Analyze] parses a command line as bash, follows its structure (pipes, lists, loops,
// conditionals, substitutions, here-documents, directory changes, variables) and looks every simple
// command up in a table: one row a program, with the options it may have and what its operands
// mean. The answer is conservative by construction. A program that is not in the table, an option
// that is not in its row, a word whose value is only known at run time where that value matters,
// and every construct that is not followed make the result unknown; nothing is ever guessed to be
// harmless.
//
// [ReadOnly] is the question an automatic approval asks. It is true only when every part is
// understood, reads nothing outside the workspace and no file that usually holds credentials, and
// writes, deletes, signals, connects and executes nothing. The same text may be run by bash or by a
// POSIX sh; where the two would read it differently it is not read-only.
//
// What is trusted, because no command line shows it: the programs that PATH leads to, the
// environment the shell starts with, the workspace's own .git/config (which may name programs that
// git runs), and symbolic links inside the workspace (which may lead out of it). A sandbox confines
// those.
package shelleffects
