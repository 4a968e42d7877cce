package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// Host and broker exchange messages in the frames of a control socket, encoded as gob in both
// directions, since they trust one another. Of a sandbox the broker sees only what the kernel
// shows: refused calls, processes, memory.

// brokerRequest is a request of the host to its broker.
type brokerRequest struct {
	Seq   uint64
	Op    string
	Spawn *spawnOrder
	Mount *mountOrder
	Kill  *killOrder
	Disk  *diskOrder
	Tree  *treeOrder
	Dir   string // opSweep
}

// The operations of a broker.
const (
	opHello    = "hello"
	opSpawn    = "spawn" // answered with its control socket and pidfd
	opMount    = "mount" // change the mounts of a sandbox that nothing runs in
	opKillTree = "kill"  // kill a command and its descendants
	opDrain    = "drain" // file: an output pipe to read until all writers have closed it
	opDisk     = "disk"  // make a file system for private files; answered with its root
	opTree     = "tree"  // open a workspace's tree; answered with a detached clone of its mounts
	opFence    = "fence" // file: such a clone, which becomes read-only
	opSweep    = "sweep" // remove abandoned scratch directories
)

// brokerReply is a broker's answer.
type brokerReply struct {
	Seq   uint64
	Error *wireError
	Key   uint64 // opSpawn: names the sandbox in later requests
	PID   int    // opSpawn: of its init process
	Facts *facts // opSpawn: what was observed of its isolation
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

// spawnOrder describes a sandbox to be made.
type spawnOrder struct {
	Spec    *spec
	User    guestUser
	Owned   []int    // indexes of Spec.Mounts whose owner appears as the sandbox's user
	Cgroups []string // cgroup.procs files of the groups that the init process joins before it runs anything
	Scratch string   // where abandoned scratch directories may lie
	Keep    bool     // its mounts will be changed later
}

// mountOrder changes mounts: first Empty, then Drop, then Add, each in order.
type mountOrder struct {
	Key    uint64
	User   guestUser
	Empty  []string // directories that must be unused; if not, nothing is done and the error is fs.ErrExist
	Drop   []string // targets to be unmounted
	Retain string   // a target of Drop whose mount is kept in case the next mount has the same Key
	As     string   // the key of that mount
	Forget []string // targets of Drop whose directories are removed too, with their empty parents
	Add    []mount
	Owned  []int // indexes of Add whose owner appears as the sandbox's user
	Verify bool  // compare with the state found by the first order with Verify
}

// killOrder names a command to be ended.
type killOrder struct {
	Key    uint64
	PID    int    // PID inside; 0 if the command itself has ended
	Marker string // an entry in the environment of its processes
	Family string // common prefix of the markers of all commands; set only if no other command ran at the same time
}

// treeOrder names the workspace of a sandbox.
type treeOrder struct {
	Key uint64
	Dir string // inside
}

// brokerEnv is the environment of a broker. Its heap is small, so rare garbage collection costs
// little memory, while frequent collection would be a good part of a sandbox's cost.
var brokerEnv = []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none", "GOMAXPROCS=2", "GOGC=400", initproc.Env}

// memoryFile makes an unnamed file in memory.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
