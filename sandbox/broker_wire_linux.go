package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// What host and broker say to each other goes in the frames of a control socket,
// as gob both ways: they trust one another. Of what happens in a sandbox the broker
// sees what the kernel shows: refused calls, processes, memory.

// brokerRequest is what the host asks of its broker.
type brokerRequest struct {
	Seq   uint64
	Op    string
	Spawn *spawnOrder
	Mount *mountOrder
	Kill  *killOrder
	Disk  *diskOrder
	Dir   string // opSweep
}

// The operations of a broker.
const (
	opHello    = "hello"
	opSpawn    = "spawn" // answered with its control socket and pidfd
	opMount    = "mount" // change the mounts of a sandbox that nothing runs in
	opKillTree = "kill"  // a command and all that came of it
	opDrain    = "drain" // file: an output pipe to be emptied until its writers are gone
	opDisk     = "disk"  // a file system for private files; answered with its top
	opSweep    = "sweep" // remove abandoned scratch directories
)

// brokerReply is a broker's answer.
type brokerReply struct {
	Seq   uint64
	Error *wireError
	Key   uint64 // opSpawn: names the sandbox in later requests
	PID   int    // opSpawn: of its first process
	Facts *facts // opSpawn: what was seen of its walls
	Disk  *diskReply
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

// mountOrder changes mounts. Empty comes before Drop, and that before Add, each in order.
type mountOrder struct {
	Key    uint64
	User   guestUser
	Empty  []string // where nothing may have been left: else nothing is done, and the error is fs.ErrExist
	Drop   []string // targets to be unmounted
	Retain string   // a target of Drop whose mount is kept for who adds one of the same mount.Key again
	As     string   // that key
	Forget []string // targets of Drop whose directories go too, with their empty parents
	Add    []mount
	Owned  []int // those of Add whose owner appears as the sandbox's user
	Verify bool  // compare with the state that the first order with Verify found
}

// killOrder is a command to be ended.
type killOrder struct {
	Key    uint64
	PID    int    // inside; 0 if the command itself has ended
	Marker string // an entry that the environment of its processes has
	Family string // how those of all commands begin, if no other command ran beside this one
}

// brokerEnv suits a broker: it holds little, so that collecting its garbage seldom
// costs little memory, and often a good part of what a sandbox costs.
var brokerEnv = []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none", "GOMAXPROCS=2", "GOGC=400", initproc.Env}

// memoryFile is an unnamed file that lies on no disk.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
