// Package shelleffects infers what a shell command would do, without running it.
//
// [Analyze] parses a command line as bash, follows its structure (pipes, lists, loops,
// conditionals, substitutions, here-documents, directory changes, variables) and looks every simple
// command up in a table: one row per program, with the options it may have and the meaning of its
// operands. The answer is conservative by construction. A program that is not in the table, an
// option that is not in its row, a word whose value matters and is known only at run time, and
// every construct that is not followed make the result unknown; nothing is guessed to be harmless.
//
// [ReadOnly] is the check for automatic approval. It is true only when every part is understood,
// reads nothing outside the workspace and no file that usually holds credentials, and writes,
// deletes, signals, connects and executes nothing.
//
// The same text may be run by bash or by a POSIX sh. What one of them may read in another way than
// the parser is not read-only: a scanner that shares no code with the parser splits the text into
// words by the rules that all shells have in common, refuses every construct beyond those, and the
// two lists of words must agree. Words with braces or $' are analysed a second time as sh reads
// them.
//
// [Command.Dirs] and [Analysis.Leading] name the directories whose files decide what a command
// does: a bare repository for git, a go.mod that asks for another toolchain, a file whose name
// begins with a dash. The caller looks at them.
//
// Trusted, because no command line shows it: the programs that PATH leads to, the environment the
// shell starts with, the workspace's own .git/config (which may name programs that git runs), and
// symbolic links inside the workspace (which may lead out of it). A sandbox confines those.
//
// # Limits
//
//   - Symbolic links inside the workspace may lead out of it; only a sandbox prevents that.
//   - Programs such as asdf and pyenv, which PATH may lead to, follow files of the workspace.
//   - zsh, fish and PowerShell are not understood.
//   - tar t, zcat, xargs, go list, go doc, md5sum -c and less need approval although they are often
//     harmless.
package shelleffects
