//go:build !unix

package worktree

const nonblock = 0
