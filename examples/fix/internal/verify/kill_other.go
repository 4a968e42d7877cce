//go:build !unix

package verify

import "os"

// killGroup ends the process pid; this system has no process groups.
func killGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
