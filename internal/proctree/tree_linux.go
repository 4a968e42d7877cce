package proctree

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A kill stops waiting for survivors after patience. On a busy host, where one scan may take
// seconds, it makes at least this many rounds first.
const (
	patience  = 5 * time.Second
	minRounds = 10
)

// Tree is a process and all its descendants.
type Tree struct {
	root   Stat
	marker string
	self   int    // the process that is spared
	family string // prefix of markers: see Alone

	mu    sync.Mutex
	ended bool
}

// NewGroup returns attributes that give a process its own session, so that signals from a terminal
// do not reach it and its group can be signalled.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Track returns the tree of a process started with NewGroup whose environment holds the entry
// marker.
func Track(p *os.Process, marker string) (*Tree, error) { return TrackPID(p.Pid, marker), nil }

// TrackPID is Track for a child identified by PID, which must not have been waited for yet.
func TrackPID(pid int, marker string) *Tree {
	s, err := Read(pid)
	if err != nil {
		// Its stat is unreadable, but it is not gone: a child that was not waited for keeps its
		// PID.
		s = Stat{PID: pid, PGID: pid, Session: pid}
	}
	return &Tree{root: s, marker: marker, self: os.Getpid()}
}

// TrackInside is TrackPID for a caller whose /proc shows another PID namespace: PIDs are those of
// that namespace, and its init process is spared. A pid of 0 means a tree whose root has ended.
func TrackInside(pid int, marker string) *Tree {
	t := &Tree{}
	if pid > 0 {
		t = TrackPID(pid, marker)
	}
	t.marker, t.self, t.ended = marker, 1, pid <= 0
	return t
}

// Alone declares that no other tree was started while this one's root ran. The tree then also owns
// every process that was started since and has no marker beginning with family, even if that
// process dropped its environment, its session and its parent. If there is also an older process
// like that, the new ones may belong to it and are left alone.
func (t *Tree) Alone(family string) { t.family = family }

// Ended records that the root was waited for, after which its PID may belong to another process.
func (t *Tree) Ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Signal sends sig to the root's process group.
func (t *Tree) Signal(sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-t.root.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		// The child has not become a group leader yet.
		err = syscall.Kill(t.root.PID, sig)
	}
	return err
}

// Kill ends the tree and returns when none of its processes is found any more. The root itself may
// remain as a zombie until it is waited for.
func (t *Tree) Kill() error {
	return kill(func(all []Stat) map[int]bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.members(all)
	})
}

// members finds the processes of the tree: the root's descendants, the processes in its session and
// the marked ones, each with all its own descendants.
func (t *Tree) members(all []Stat) map[int]bool {
	in := map[int]bool{}
	for _, s := range all {
		switch {
		case !t.ended && s.PID == t.root.PID && (s.Start == t.root.Start || t.root.Start == 0):
			in[s.PID] = true
		case !t.ended && s.Session == t.root.PID:
			in[s.PID] = true
		case t.marker != "" && s.Start >= t.root.Start && marked(s, t.marker, t.self):
			in[s.PID] = true
		}
	}
	in = closure(all, in, t.self)
	if t.family == "" || t.ended || t.root.Start == 0 {
		return in
	}
	for _, pid := range t.hiding(all, in) {
		in[pid] = true
	}
	return closure(all, in, t.self)
}

// hiding lists the processes that belong to no other tree. It lists none if one of them is older
// than the root.
func (t *Tree) hiding(all []Stat, in map[int]bool) (pids []int) {
	others := map[int]bool{}
	for _, s := range all {
		if s.PID != t.self && !in[s.PID] && hasEnv(s.PID, t.family) {
			others[s.PID] = true
		}
	}
	others = closure(all, others, t.self)
	for _, s := range all {
		if s.PID == t.self || in[s.PID] || others[s.PID] || s.State == 'Z' || s.State == 'X' {
			continue
		}
		if s.Start < t.root.Start || s.Start == t.root.Start && s.PID < t.root.PID {
			return nil
		}
		pids = append(pids, s.PID)
	}
	return pids
}

// KillMarked ends every process that was started with an environment entry
// beginning with prefix, and their descendants.
func KillMarked(prefix string) error {
	self, err := Read(os.Getpid())
	if err != nil {
		return fmt.Errorf("proctree: kill marked: %w", err)
	}
	return kill(func(all []Stat) map[int]bool {
		in := map[int]bool{}
		for _, s := range all {
			// A process older than us is not our descendant; skipping it saves most reads.
			if s.Start >= self.Start && marked(s, prefix, self.PID) {
				in[s.PID] = true
			}
		}
		return closure(all, in, self.PID)
	})
}

func marked(s Stat, prefix string, self int) bool {
	return s.State != 'Z' && s.PID != self && hasEnv(s.PID, prefix)
}

// closure adds the descendants of the processes in in, and removes self.
func closure(all []Stat, in map[int]bool, self int) map[int]bool {
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if in[s.PPID] && !in[s.PID] {
				in[s.PID], grown = true, true
			}
		}
	}
	delete(in, self)
	return in
}

// kill stops the members one by one until no new one appears, so that none can fork unseen. Then it
// kills them all, and repeats until none is left alive.
func kill(members func([]Stat) map[int]bool) error {
	deadline := time.Now().Add(patience)
	sent := map[int]uint64{} // start times of killed processes by PID: they count until gone, even if no longer found
	find := func(all []Stat) map[int]bool {
		in := members(all)
		for _, s := range all {
			if start, ok := sent[s.PID]; ok && start == s.Start {
				in[s.PID] = true
			}
		}
		return in
	}
	pause := time.Millisecond
	for round := 0; ; round++ {
		alive, err := freeze(find, deadline)
		if err != nil {
			return fmt.Errorf("proctree: kill tree: %w", err)
		}
		if len(alive) == 0 {
			return nil
		}
		for _, s := range alive {
			send(s, unix.SIGKILL)
			sent[s.PID] = s.Start
		}
		if round >= minRounds && time.Now().After(deadline) {
			return fmt.Errorf("proctree: kill tree: %d processes remain after %v, such as %d (%s)", len(alive), patience, alive[0].PID, alive[0].Comm)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// freeze stops members until a scan of /proc shows none that is running.
func freeze(members func([]Stat) map[int]bool, deadline time.Time) ([]Stat, error) {
	stopped := map[int]uint64{}
	for {
		all, err := List()
		if err != nil {
			return nil, err
		}
		in := members(all)
		var alive []Stat
		fresh := false
		for _, s := range all {
			if !in[s.PID] || s.State == 'Z' || s.State == 'X' {
				continue
			}
			alive = append(alive, s)
			if start, ok := stopped[s.PID]; !ok || start != s.Start {
				stopped[s.PID], fresh = s.Start, true
				send(s, unix.SIGSTOP)
			}
		}
		if !fresh || time.Now().After(deadline) {
			return alive, nil
		}
	}
}

// send signals exactly the process that was seen, not a later one with the same PID. The process's
// directory in /proc identifies it as a pidfd does, even if the PID is one of another PID
// namespace. An error means that the process is gone or not ours.
func send(s Stat, sig unix.Signal) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(s.PID), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, err := Read(s.PID); err != nil || now.Start != s.Start {
		return
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.1: other namespaces do not matter here
		_ = unix.Kill(s.PID, sig)
	}
}

// KillDescendants ends everything below the calling process.
func KillDescendants() error {
	self := os.Getpid()
	return kill(func(all []Stat) map[int]bool {
		in := map[int]bool{}
		for _, s := range all {
			if s.PPID == self {
				in[s.PID] = true
			}
		}
		return closure(all, in, self)
	})
}
