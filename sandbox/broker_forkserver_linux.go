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

// forkServers holds the fork server that forks init processes. There is one at a time; if it dies,
// a new one replaces it. Processes it forked are children of the broker and live on. The fork
// during which it died is tried again.
type forkServers struct {
	mu      sync.Mutex
	current *initproc.Parent

	births sync.RWMutex // held for reading from a fork until the child is registered
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

// renew replaces a fork server that has died, unless it has already been replaced.
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

// born forks an init process with the current fork server. If that server dies doing it, the next
// one tries again.
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
			// Not wrapped, so that the broker does not end for it: the next fork server may work.
			return nil, nil, nil, fmt.Errorf("two fork servers died of this: %v", err)
		}
	}
}

// reapUnknown waits for children whose fork server died before it could report them. They end by
// themselves, since nobody holds the other end of their sockets.
func (d *brokerd) reapUnknown() {
	for range 20 {
		d.forkServers.births.Lock()
		for _, pid := range children() {
			if !d.knows(pid) {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // a running child is left alone
			}
		}
		d.forkServers.births.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// knows reports whether a child belongs to a registered sandbox, which waits for it itself.
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

// children lists the children of all threads of this process.
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
