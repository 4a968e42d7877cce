package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/cgroup"
	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
	"github.com/luthier-dev/luthier/sandbox/internal/memfiles"
	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
)

// The stages of a broker. An ordinary user's broker runs in new user and mount namespaces, in which
// it may mount. A process with several threads cannot enter a new user namespace, so there is a
// second process, created inside one; the first waits for it.
const (
	stageBroker = "broker"
	stageNested = "broker-nested"
)

// brokerCaps lists the capabilities that a broker in its own namespaces needs: those that
// supervisors need until they have dropped theirs, and those for inspecting sandboxes and mounting
// in them.
var brokerCaps = append([]uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SYS_CHROOT, unix.CAP_SYS_PTRACE, unix.CAP_KILL}, setupCaps...)

// brokerd is the broker, in its own process.
type brokerd struct {
	conn        *conn
	forkServers *forkServers
	mounter     *mounter
	disks       disks
	owners      ownerMaps
	filters     filterCache
	caps        int

	mu      sync.Mutex
	next    uint64
	boxes   map[uint64]*box
	scratch map[string]bool // where scratch directories may be left behind
	lost    time.Time       // when the last sandbox ended
}

// box is a sandbox as seen by its broker.
type box struct {
	key      uint64
	pid      int
	fd       *pidfd
	user     guestUser
	tell     *os.File          // the other end: messages written here reach the host between those of the init process
	mnt, ipc *os.File          // its namespaces, if mounts are to be changed
	baseline string            // fingerprint when it was new
	empty    map[string]string // fingerprints of the places that leases write to, when they were new
	gone     chan struct{}

	retained    *os.File // a mount taken out to be put back later; used only by the mounter, like the fields below
	retainedKey string
	retainedAt  string   // where it was mounted; its directories still exist
	queues      *os.File // file system of the sandbox's message queues

	files memfiles.Files // made for commands, if its memory is watched

	insideOnce sync.Once
	inside     chan func(notThere error) // runs functions on a thread inside, if there is one
}

func brokerMain() int {
	if os.Geteuid() != 0 {
		return nestBroker()
	}
	return runBroker()
}

// nestBroker starts the broker proper and waits for its end.
func nestBroker() int {
	runtime.LockOSThread() // Pdeathsig kills the child when this thread ends
	uid, gid := os.Geteuid(), os.Getegid()
	p, err := os.StartProcess("/proc/self/exe", []string{"sandbox", stageArg, stageNested}, &os.ProcAttr{
		Dir: "/", Env: brokerEnv, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, os.NewFile(controlFD, "control")},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: brokerCaps, Pdeathsig: syscall.SIGKILL,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, explainClone(err))
		return failStatus
	}
	unix.Close(controlFD)
	state, err := p.Wait()
	if err != nil {
		return failStatus
	}
	return state.ExitCode()
}

// runBroker serves until the host's end of the socket is closed.
func runBroker() int {
	c, err := dupConn()
	unix.Close(controlFD)
	if err != nil {
		return failStatus
	}
	c.shareTypes()
	if os.Geteuid() != 0 {
		// Mounts that the host makes later appear here too, and mounts that it removes disappear.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			fmt.Fprintln(os.Stderr, "make mounts follow the host's:", err)
			return failStatus
		}
	}
	births, err := newForkServers()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return failStatus
	}
	d := &brokerd{conn: c, forkServers: births, mounter: newMounter(), caps: knownCaps(), boxes: map[uint64]*box{}, scratch: map[string]bool{}}
	for {
		var r brokerRequest
		files, err := c.hear(&r)
		if err != nil {
			d.end()
			return 0
		}
		go d.handle(r, files)
	}
}

func (d *brokerd) handle(r brokerRequest, files []*os.File) {
	defer func() { closeFiles(files) }()
	out := brokerReply{Seq: r.Seq}
	var give []*os.File
	var err error
	switch r.Op {
	case opHello:
	case opSpawn:
		out, give, err = d.spawn(r.Spawn)
		out.Seq = r.Seq
	case opMount:
		err = d.change(r.Mount)
	case opKillTree:
		err = d.kill(r.Kill)
	case opDisk:
		var root *os.File
		if out.Disk, root, err = d.disks.serve(r.Disk); root != nil {
			give = append(give, root)
		}
	case opDrain:
		drain(files)
		files = nil
	case opTree:
		var f *os.File
		if f, err = d.tree(r.Tree); f != nil {
			give = append(give, f)
		}
	case opFence:
		err = fence(files)
	case opSweep:
		_, err = scratch.Sweep(r.Dir, time.Now())
		_, _ = cgroup.Sweep()
	default:
		err = fmt.Errorf("broker: unknown request %q", r.Op)
	}
	out.Error = toWire(err)
	if err := d.conn.tell(out, give...); err != nil && len(give) > 0 {
		// Sending descriptors can fail where a plain message does not, and the host is waiting for
		// an answer.
		_ = d.conn.tell(brokerReply{Seq: r.Seq, Error: toWire(err)})
	}
	closeFiles(give) // this ends a sandbox that the host did not receive
}

// spawn makes a sandbox and returns what the host needs: its control socket and its pidfd.
func (d *brokerd) spawn(o *spawnOrder) (out brokerReply, give []*os.File, err error) {
	if o == nil || o.Spec == nil {
		return out, nil, errors.New("broker: incomplete order")
	}
	if err := o.Spec.check(); err != nil {
		return out, nil, err
	}
	d.watchScratch(o.Scratch)
	b, control, f, err := d.born(o)
	if errors.Is(err, initproc.ErrForkServer) {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		d.end()
		syscall.Exit(failStatus) // the host starts another broker
	}
	if err != nil {
		return out, nil, err
	}
	give = append(give, control)
	var dup *os.File
	if o.Keep {
		err = b.open()
	}
	if err == nil {
		dup, err = b.dup()
	}
	if err != nil {
		_ = b.fd.Kill()
		return out, give, err
	}
	return brokerReply{Key: b.key, PID: b.pid, Facts: f}, append(give, dup), nil
}

// box returns one of the broker's sandboxes, or nil if it has ended.
func (d *brokerd) box(key uint64) *box {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.boxes[key]
}

// adopt registers b with the broker, which then reaps it.
func (d *brokerd) adopt(b *box) {
	d.mu.Lock()
	d.next++
	b.key = d.next
	d.boxes[b.key] = b
	d.mu.Unlock()
	go d.reap(b)
}

// enter puts the process into control groups before it runs anything.
func (b *box) enter(groups []string) error {
	for _, path := range groups {
		if err := os.WriteFile(path, []byte(strconv.Itoa(b.pid)), 0); err != nil {
			return fmt.Errorf("enter control group: %w", err)
		}
	}
	return nil
}

// open opens the namespaces in which mounts are to be changed.
func (b *box) open() (err error) {
	dir := "/proc/" + strconv.Itoa(b.pid) + "/ns/"
	if b.mnt, err = os.Open(dir + "mnt"); err == nil {
		b.ipc, err = os.Open(dir + "ipc")
	}
	return err
}

// dup duplicates the descriptor of the process.
func (b *box) dup() (f *os.File, err error) {
	ctlErr := b.fd.raw.Control(func(fd uintptr) {
		var n int
		if n, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			f = os.NewFile(uintptr(n), "pidfd")
		}
	})
	if err == nil {
		err = ctlErr
	}
	return f, err
}

// reap waits for the end of a sandbox.
func (d *brokerd) reap(b *box) {
	_ = b.fd.await()
	for {
		if _, err := syscall.Wait4(b.pid, nil, 0, nil); err != syscall.EINTR {
			break
		}
	}
	d.mu.Lock()
	delete(d.boxes, b.key)
	d.lost = time.Now()
	d.mu.Unlock()
	close(b.gone)
	b.files.Close()
	b.tell.Close()                          // tells the host that it has ended
	d.mounter.do(func(*mountThread) error { // on the mounter's thread, so that it is not in use
		b.fd.Close()
		closeFiles([]*os.File{b.mnt, b.ipc, b.retained, b.queues})
		return nil
	})
}

// most bounds the number of remembered scratch places.
const most = 1024

// watchScratch records a place where scratch directories are made. The first time, it removes what
// earlier hosts left there.
func (d *brokerd) watchScratch(dir string) {
	d.mu.Lock()
	known := dir == "" || d.scratch[dir] || len(d.scratch) >= most
	if !known {
		d.scratch[dir] = true
	}
	d.mu.Unlock()
	if !known {
		go func() { _, _ = scratch.Sweep(dir, time.Now()) }()
	}
}

// end kills the processes that still run, and removes the scratch directories that a dying host
// could not remove.
func (d *brokerd) end() {
	d.mu.Lock()
	killed := len(d.boxes) > 0 || time.Since(d.lost) < brokerPatience
	var gone []chan struct{}
	for _, b := range d.boxes {
		_ = b.fd.Kill()
		gone = append(gone, b.gone)
	}
	dirs := d.scratch
	d.mu.Unlock()
	limit := time.After(brokerPatience)
	for _, c := range gone {
		select {
		case <-c:
		case <-limit:
		}
	}
	// A dying host loses its descriptors one after the other: those that hold the locks may be
	// closed after the socket whose end stopped this broker.
	for _, wait := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond} {
		time.Sleep(wait)
		for dir := range dirs {
			_, _ = scratch.Sweep(dir, time.Now())
		}
		_, _ = cgroup.Sweep()
		if !killed {
			return
		}
	}
}
