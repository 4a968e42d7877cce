package proctree

import "golang.org/x/sys/unix"

// descendants lists the processes below pid, parents before their children.
func descendants(pid int) []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	in := map[int32]bool{int32(pid): true}
	var out []int
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.Eproc.Ppid] && !in[p.Proc.P_pid] {
				in[p.Proc.P_pid], grown = true, true
				out = append(out, int(p.Proc.P_pid))
			}
		}
	}
	return out
}
