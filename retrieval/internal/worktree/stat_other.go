//go:build !unix

package worktree

import "io/fs"

// Identity returns zeros: this system has no such data, so callers have only size and modification
// time.
func Identity(fs.FileInfo) (inode uint64, changed int64) { return 0, 0 }
