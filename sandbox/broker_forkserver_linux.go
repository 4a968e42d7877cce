package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// forkServers are what first processes are forked by: one at a time, and a new one when it
// has died. What it made before are the broker's own children and live on; the birth
// that it died of is tried again.
type forkServers struct {
	mu      sync.Mutex
	current *initproc.Parent

	births sync.RWMutex // held for reading from a fork until the child is known
}

func newForkServers() (*forkServers, error) {
	p, err := initproc.NewParent()
	return &forkServers{current: p}, err
}

func (n *forkServers) get() *initproc.Parent {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current
}

// renew replaces a fork server that has died, unless that was done already.
func (n *forkServers) renew(dead *initproc.Parent) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != dead {
		return nil
	}
	p, err := initproc.NewParent()
	if err != nil {
		return err
	}
	n.current = p
	dead.Close()
	return nil
}

// born is a birth by the current fork server, or by the next if that dies of it.
func (d *brokerd) born(o *spawnOrder) (b *box, control *os.File, f *facts, err error) {
	for again := true; ; again = false {
		p := d.forkServers.get()
		b, control, f, err = d.birth(o, p)
		if !errors.Is(err, initproc.ErrForkServer) {
			return b, control, f, err
		}
		if renewErr := d.forkServers.renew(p); renewErr != nil {
			return nil, nil, nil, errors.Join(err, renewErr)
		}
		go d.reapUnknown()
		if !again {
			// Not one that can be told from a death of its own: the next may do.
			return nil, nil, nil, fmt.Errorf("two fork servers died of this: %v", err)
		}
	}
}

// reapUnknown waits for children that a fork server made and did not live to tell of. They
// end by themselves: nobody holds the other end of their sockets.
func (d *brokerd) reapUnknown() {
	for range 20 {
		d.forkServers.births.Lock()
		for _, pid := range children() {
			if !d.knows(pid) {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that runs stays
			}
		}
		d.forkServers.births.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// knows reports whether a child is a sandbox's, which has its own to wait for it.
func (d *brokerd) knows(pid int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.boxes {
		if b.pid == pid {
			return true
		}
	}
	return false
}

// children lists this process's, of all its threads.
func children() (pids []int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
