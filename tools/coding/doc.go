// Package coding gives a model the tools of a programmer, confined to one directory.
//
// Open a [Workspace] on a directory and hand its tools to an agent:
//
//	ws, err := coding.Open("/home/me/src/app", coding.Config{})
//	if err != nil { ... }
//	defer ws.Close()
//	ts, err := ws.Tools()
//
// [OpenTree] does the same for the workspace of a sandbox, such as a snapshot or a fork: the tools
// work on what its commands see.
//
// The tools that work on files are read, write, edit, apply_patch, list, glob, grep, search and
// repo_map (with [Config.Index]), symbols, todo, memory and ask_user; those that run programs are
// described at [ProcConfig]. Each has its text for the model in prompts/NAME.md. The whole list,
// and how to add a tool, is in toolbox.go.
//
// # What a workspace guarantees
//
//   - No path leaves the directory. Every file is opened through [os.Root]; "..", absolute paths
//     and symbolic links are followed only while they stay inside. Nothing inside .git is ever
//     written.
//   - Only regular files are opened: a FIFO, device or socket is an error, not a hang.
//   - A call that writes a file which something later obeys or executes has
//     [agent.EffectObeyed], so that the standard rules ask; see [Config].Reviewed. A call that
//     was let through without it does not write such a file.
//   - A file is replaced by a rename, so that a reader, or a crash, finds the old text or the new
//     one and never a mixture. Permission bits, encoding, byte order mark and line endings of an
//     existing file are kept.
//   - What the model was shown is remembered for each session. A write to a file that was never
//     shown, or that somebody else has changed in the same lines, is refused with the reason;
//     changes in other lines are merged.
//   - Calls that touch the same file wait for each other, also when they come from several agents.
//
// # What it does not guarantee
//
// The tools run with the rights of this process. Hard links to files outside the directory look
// like ordinary files, and mount points inside it are followed. Names of files are listed by path:
// if somebody replaces a directory by a symbolic link during the listing, names (never contents)
// from outside can appear. Programs that the model runs are confined by
// [github.com/luthier-dev/luthier/sandbox], not by this package.
//
// # Limits
//
// Of the tools that work on files:
//
//   - On case-insensitive file systems names are brought into their spelling on disk. This was not
//     run on such a system. A patch that only changes the case of a name is refused there.
//   - Outlines of languages other than Go go by the shape of lines, and report so.
//   - A patch of several files that is killed between two renames leaves some files new and some
//     old, each of them whole.
//   - A search through a directory finds UTF-16 only if it has a byte order mark. read, edit and
//     grep of a single file need none.
//   - The encoding of a file that is neither UTF-8 nor UTF-16 is found by its words. If that is not
//     certain, only ASCII and the characters that the file has can be written.
//   - ripgrep follows nested .rgignore files, the built-in search does not. In a [Tree] only the
//     built-in search is used.
//   - In a [Tree] nothing above its top counts: no .gitignore, go.mod or repository there. A .git
//     that leads out of the tree, as that of a linked work tree, is an error.
//   - Files over 32 MiB (Limits.FileBytes) are read by range only and not edited; UTF-16 above that
//     size is not read. PDF is not supported.
//   - The text of a notebook is for reading; edits go to its raw JSON.
//
// Of the tools that run programs:
//
//   - A command with known writes that moves to the background on a timeout goes on writing after
//     its call has returned. Later calls are not scheduled around it.
//   - A process that a command left behind (setsid, nohup) lives until the workspace closes, or
//     until the host closes the sandbox that it passed in.
//   - git: a submodule is one entry and is not looked into. Files under filters (Git LFS) are
//     compared without the filter, with a note. Only the .gitattributes at the top of the workspace
//     is read, to decide whether line endings are normalised. Repositories with sha256, reftable or
//     a split index are errors that send the model to shell. core.excludesFile is not read. blame
//     is slow on long histories (90 s at most).
//   - The parser for ruff was tested only on a hand-written report in its documented format.
//   - On Windows the tools compile but were not run. Shell must be set there unless bash is on
//     PATH.
//   - unittest, mocha, maven, gradle, dotnet and others have no structured report. The error names
//     the project's own command for shell.
//
// # Terms
//
//   - view: what the model of a session believes a file to hold: the text it was shown, with its
//     own edits applied.
//   - stray ignore file: a .gitignore above the searched directory but outside a repository.
package coding
