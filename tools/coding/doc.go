// Package coding gives a model the tools of a programmer, confined to one directory.
//
// Open a [Workspace] on a directory and hand its tools to an agent:
//
//	ws, err := coding.Open("/home/me/src/app", coding.Config{})
//	if err != nil { ... }
//	defer ws.Close()
//	ts, err := ws.Tools()
//
// The tools that work on files are read, write, edit, apply_patch, list, glob, grep, search and
// repo_map (with [Config.Index]), symbols, todo, memory and ask_user; those that run programs are
// described at [ProcConfig]. Each has its text for the model in prompts/NAME.md. The whole list,
// and how to add a tool, is in toolbox.go.
//
// # What a workspace guarantees
//
//   - No path leaves the directory. Every file is opened through [os.Root]; "..", absolute paths
//     and symbolic links are followed only as far as they stay inside. The inside of .git is never
//     written.
//   - Only regular files are opened: a FIFO, device or socket is an error, not a hang.
//   - A file is replaced by a rename, so that a reader, or a crash, sees the old text or the new
//     one and never a mixture. Permission bits, encoding, byte order mark and line endings of an
//     existing file are kept.
//   - What the model was shown is remembered for each session. A write to a file that was never
//     shown, or that somebody else changed since in the same lines, is refused and says why;
//     changes in other lines are merged.
//   - Calls that touch the same file wait for each other, also when they come from several agents.
//
// # What it does not guarantee
//
// The tools run with the rights of this process. Hard links to files outside the directory cannot
// be told from ordinary files, and mount points inside it are followed. The names of files are
// listed by path, so that somebody who replaces a directory by a symbolic link during the listing
// can make names (never contents) from outside appear. Programs that the model runs are confined by
// [github.com/luthier-dev/luthier/sandbox], not by this package.
package coding
