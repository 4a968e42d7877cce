// Package checkpoint records the state of a workspace and brings it back.
//
// A [Store] is a bare git repository outside the work tree. [Store.Snapshot] records every file
// that git would not ignore, whether or not the workspace is a git repository: contents,
// permissions, symbolic links (as links), empty directories, untracked files, and files that are
// tracked although an ignore rule names them. The workspace's own .git is only read (its index and
// info/exclude), so that HEAD, index and status stay as they are.
//
// [Store.Restore] makes the workspace what it was. It first snapshots what is there, so a restore
// can itself be undone; it replaces files one by one, each by a rename, and checks every content
// against its hash; it deletes no file that an ignore rule names. [Store.Undo] and [Store.Redo]
// walk along the history.
//
//	s, err := checkpoint.Open(dir, storeDir, checkpoint.Options{})
//	id, err := s.Snapshot(ctx, "before the refactoring")
//	...
//	undo, err := s.Restore(ctx, id)
//
// The whole history hangs on one reference that is replaced by a rename, after everything it leads
// to has been written: a process that dies at any point leaves the checkpoints it had. A cache of
// file times makes a snapshot of a large, mostly unchanged tree quick; losing it costs time only.
// Real git can read the store:
//
//	git --git-dir=storeDir log --stat checkpoints
//
// Not recorded: sockets, pipes and devices, owners, extended attributes, hard links as such, and
// files larger than [Options.MaxFile]; each is named in [Checkpoint.Notes] and left alone by a
// restore.
package checkpoint
