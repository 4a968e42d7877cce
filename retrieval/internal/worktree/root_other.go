//go:build !linux

package worktree

import "os"

func (r *Root) open(name string) (*os.File, error) { return r.openSlowly(name) }
