// Package checkpoint records the state of a workspace and restores it.
//
// A [Store] is a bare git repository outside the work tree. [Store.Snapshot] records every file
// that git would not ignore, whether or not the workspace is a git repository: contents,
// permissions, symbolic links (as links), empty directories, untracked files, and files that are
// tracked although an ignore rule matches them. The workspace's own .git is only read (its index
// and info/exclude), so that HEAD, index and status do not change.
//
// [Store.Restore] brings the workspace back to a checkpoint. It first takes a snapshot, so that a
// restore can itself be undone. It replaces files one by one, each by a rename, and checks every
// content against its hash. It deletes no ignored file. [Store.Undo] and [Store.Redo] move through
// the history.
//
//	s, err := checkpoint.Open(dir, storeDir, checkpoint.Options{})
//	id, err := s.Snapshot(ctx, "before the refactoring")
//	...
//	undo, err := s.Restore(ctx, id)
//
// One reference leads to the whole history. It is replaced by a rename after all objects that it
// leads to have been written, so that a process that dies at any point leaves all earlier
// checkpoints intact. A cache of file times makes a snapshot of a large, mostly unchanged tree
// fast; losing it costs only time. The git program can read the store:
//
//	git --git-dir=storeDir log --stat checkpoints
//
// # Limits
//
//   - Not recorded: sockets, pipes and devices, owners, extended attributes, hard links as such,
//     and files larger than [Options.MaxFile]. [Checkpoint.Notes] names each of them, and a restore
//     does not touch them.
//   - Old checkpoints are never removed.
//   - Objects are not synced to disk: a power cut, unlike a kill, may lose the newest checkpoint.
//   - The content of a file is held in memory while it is read, one file per core.
//   - A restore into a directory without write permission fails with an error.
package checkpoint
