package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// What host and broker say to each other goes in the frames of a control socket,
// as gob both ways: they trust one another, and nothing that a sandbox says ever
// reaches the broker.

// brokerRequest is what the host asks of its broker.
type brokerRequest struct {
	Seq   uint64
	Op    string
	Spawn *spawnOrder
	Mount *mountOrder
	Dir   string // opSweep
}

// The operations of a broker.
const (
	opHello = "hello"
	opSpawn = "spawn" // file: where the sandbox's supervisor may complain; answered with its control socket and pidfd
	opMount = "mount" // change the mounts of a sandbox that nothing runs in
	opSweep = "sweep" // remove abandoned scratch directories
)

// brokerReply is a broker's answer.
type brokerReply struct {
	Seq   uint64
	Error *wireError
	Key   uint64 // opSpawn: names the sandbox in later requests
	PID   int    // opSpawn: of its first process
}

// guestUser is an identity on the wire.
type guestUser struct {
	InUID, InGID, OutUID, OutGID int
	Dropped                      bool
}

func (id identity) wire() guestUser {
	return guestUser{id.inUID, id.inGID, id.outUID, id.outGID, id.dropped}
}

func (u guestUser) identity() identity {
	return identity{inUID: u.InUID, inGID: u.InGID, outUID: u.OutUID, outGID: u.OutGID, dropped: u.Dropped}
}

// spawnOrder is a sandbox to be made.
type spawnOrder struct {
	Spec    *spec
	User    guestUser
	Owned   []int    // those of Spec.Mounts whose owner appears as the sandbox's user
	Cgroups []string // cgroup.procs files that the first process is entered into before it does anything
	Scratch string   // where abandoned scratch directories may lie
	Keep    bool     // its mounts are to be changed later
}

// mountOrder changes mounts. Drop comes before Add, both in order.
type mountOrder struct {
	Key    uint64
	User   guestUser
	Drop   []string // targets to be unmounted
	Forget []string // targets of Drop whose directories go too, with their empty parents
	Add    []mount
	Owned  []int // those of Add whose owner appears as the sandbox's user
	Verify bool  // compare with the state that the first order with Verify found
}

// brokerEnv keeps a broker small: it allocates little and seldom, and the memory
// it does not need is better left to the sandboxes.
var brokerEnv = []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none", "GOMAXPROCS=2", "GOGC=25"}

// memoryFile is an unnamed file that lies on no disk.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
