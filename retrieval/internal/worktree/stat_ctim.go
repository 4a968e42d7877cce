//go:build unix && !darwin && !freebsd && !netbsd

package worktree

import "syscall"

func changeTime(st *syscall.Stat_t) int64 { return int64(st.Ctim.Sec)*1e9 + int64(st.Ctim.Nsec) }
