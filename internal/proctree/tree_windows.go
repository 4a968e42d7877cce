package proctree

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/windows"
)

// Tree is a process and all its descendants, held together by a job object.
type Tree struct {
	mu  sync.Mutex
	job windows.Handle // zero once closed
}

// NewGroup returns attributes that keep console signals from reaching a process.
func NewGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// Track puts a process that was just started into its own job. A child that the process created
// before that is not in the job.
func Track(p *os.Process, _ string) (*Tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("proctree: create job: %w", err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("proctree: assign process %d to job: %w", p.Pid, err)
	}
	return &Tree{job: job}, nil
}

// Ended releases the job after the root was waited for; surviving processes keep running.
func (t *Tree) Ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		windows.CloseHandle(t.job)
		t.job = 0
	}
}

// Signal can only kill on Windows.
func (t *Tree) Signal(sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return fmt.Errorf("proctree: send %v: only SIGKILL can be sent on windows", sig)
	}
	return t.Kill()
}

// Kill ends every process of the job.
func (t *Tree) Kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	if err := windows.TerminateJobObject(t.job, 137); err != nil {
		return fmt.Errorf("proctree: kill tree: %w", err)
	}
	return nil
}

// KillMarked does nothing: Windows does not let us read environment markers.
func KillMarked(string) error { return nil }
