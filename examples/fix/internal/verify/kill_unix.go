//go:build unix

package verify

import "syscall"

// killGroup ends the process group that pid leads.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
