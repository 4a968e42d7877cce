package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Everything in this file runs after the fork, without a runtime. It is nosplit, since a stack that
// must grow would be fatal. It is norace and nocheckptr, since their instrumentation calls the
// runtime. It stores no Go pointers, since a write barrier may have been enabled at the moment of
// the fork.

// at converts an address to a pointer to memory outside Go's heap.
//
//go:nosplit
//go:norace
//go:nocheckptr
func at(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

//go:nosplit
//go:norace
//go:nocheckptr
func exit(status uintptr) {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, status, 0, 0, 0, 0, 0)
	}
}

// forkServer forks init processes for the parent. It returns only in those.
//
//go:nosplit
//go:norace
//go:nocheckptr
func forkServer(m *machine) {
	standard(m)
	block(m, ^uint64(0))
	m.give = -1
	m.answer.Event = Ready
	settle(m)
	forget(m)
	send(m)
	for {
		if !expect(m) {
			continue
		}
		pid, e := uintptr(0), syscall.Errno(unix.EMFILE)
		if m.order.op == opFork && !m.lost {
			pid, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(m.order.flags)|unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if e == 0 && pid == 0 {
				return
			}
		}
		syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, firstFile, uintptr(^uint32(0)), 0, 0, 0, 0)
		m.lost = false
		m.answer.Event, m.answer.Errno, m.answer.PID = Done, e, int64(pid)
		send(m)
	}
}

// settle closes every descriptor except the control socket, and gives that its number.
//
//go:nosplit
//go:norace
//go:nocheckptr
func settle(m *machine) {
	if m.control != forkServerFD {
		syscall.RawSyscall6(unix.SYS_DUP3, m.control, forkServerFD, unix.O_CLOEXEC, 0, 0, 0)
		m.control = forkServerFD
	}
	standIns(m)
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, firstFile, uintptr(^uint32(0)), 0, 0, 0, 0)
}

// standIns opens placeholders for the standard files; commands get their own.
//
//go:nosplit
//go:norace
//go:nocheckptr
func standIns(m *machine) {
	for i := uintptr(0); i < 3; i++ {
		syscall.RawSyscall6(unix.SYS_DUP3, m.control, i, unix.O_CLOEXEC, 0, 0, 0)
	}
}

// expect receives a request of the parent to the fork server; it returns true if the request must
// be answered.
//
//go:nosplit
//go:norace
//go:nocheckptr
func expect(m *machine) bool {
	m.vector.base, m.vector.size = uintptr(unsafe.Pointer(&m.order)), unsafe.Sizeof(m.order)
	m.message.vectors, m.message.nvectors = uintptr(unsafe.Pointer(&m.vector)), 1
	m.message.control, m.message.ncontrol = uintptr(unsafe.Pointer(&m.rights)), unsafe.Sizeof(m.rights)
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVMSG, m.control, uintptr(unsafe.Pointer(&m.message)), 0, 0, 0, 0)
	if e == unix.EINTR {
		return false
	}
	if e != 0 || n != unsafe.Sizeof(m.order) {
		exit(0) // the parent has disappeared
	}
	// Descriptors get the lowest free numbers, in order, and the script relies on them: if one were
	// missing, the script would use another in its place.
	if m.message.flags&unix.MSG_CTRUNC != 0 {
		m.lost = true
	}
	return m.order.op != opFiles
}

// firstProcess runs the init process of new namespaces; it never returns.
//
//go:nosplit
//go:norace
//go:nocheckptr
func firstProcess(m *machine) {
	m.control = firstFile
	syscall.RawSyscall6(unix.SYS_CLOSE, forkServerFD, 0, 0, 0, 0, 0)
	standIns(m)
	// From now on the kernel discards every other signal from inside when it is sent: for PID 1 of
	// a namespace the default action is to ignore it (pid_namespaces(7)). Blocked signals would
	// accumulate.
	block(m, 1<<(unix.SIGCHLD-1))
	if !run(uintptr(m.order.slot), &m.answer) {
		send(m)
		exit(125)
	}
	pass(m)
	shareReport(m)
	listenForEnds(m)
	m.answer.Event = Ready
	send(m)
	for {
		await(m)
		if m.wait[1].Revents != 0 || m.more {
			reap(m, unix.WNOHANG)
		}
		if m.wait[0].Revents == 0 || !receive(m) {
			continue
		}
		m.answer.ID, m.answer.Event = m.head.id, Done
		switch m.head.op {
		case opStart:
			if start(m) {
				become(m)
				exit(127)
			}
		case opSignal:
			m.answer.Errno = signal(m)
		case opReset:
			reset(m)
			m.answer.ID, m.answer.Event = m.head.id, Done
		case opListen:
			m.answer.Errno = listen(m)
		}
		done(m)
		send(m)
	}
}

// pass finds the descriptor to send with the answer, and releases the scripts.
//
//go:nosplit
//go:norace
//go:nocheckptr
func pass(m *machine) {
	h := (*slotHead)(at(uintptr(m.order.slot)))
	for i := 0; i < len(h.passed) && m.give < 0; i++ {
		if h.passed[i] > 0 {
			m.give = callAt(uintptr(m.order.slot), int(h.passed[i]-1)).result
		}
	}
	syscall.RawSyscall6(unix.SYS_MUNMAP, m.slots.low, m.slots.high-m.slots.low, 0, 0, 0, 0)
}

// shareReport makes the page in which a child reports why it could not execute.
//
//go:nosplit
//go:norace
//go:nocheckptr
func shareReport(m *machine) {
	r, _, e := syscall.RawSyscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
	if e != 0 {
		exit(124)
	}
	m.report = r
}

// callAt returns a call of the script in a slot.
//
//go:nosplit
//go:norace
//go:nocheckptr
func callAt(slot uintptr, i int) *op {
	return (*op)(at(slot + unsafe.Sizeof(slotHead{}) + uintptr(i)*unsafe.Sizeof(op{})))
}

// standard sets every signal to its default action. The runtime has removed its own handlers; those
// of other code would lead to addresses that are no longer mapped.
//
//go:nosplit
//go:norace
//go:nocheckptr
func standard(m *machine) {
	for sig := uintptr(1); sig <= 64; sig++ {
		// m.action is all zeros. For SIGKILL and SIGSTOP the call is refused, but they already have
		// the default action.
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&m.action)), 0, 8, 0, 0)
	}
}

// block blocks exactly these signals.
//
//go:nosplit
//go:norace
//go:nocheckptr
func block(m *machine, mask uint64) {
	m.mask = mask
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, 2 /* SIG_SETMASK */, uintptr(unsafe.Pointer(&m.mask)), 0, 8, 0, 0)
}

// listenForEnds opens a descriptor that signals the end of children.
//
//go:nosplit
//go:norace
//go:nocheckptr
func listenForEnds(m *machine) {
	r, _, e := syscall.RawSyscall6(unix.SYS_SIGNALFD4, ^uintptr(0), uintptr(unsafe.Pointer(&m.mask)), 8, unix.SFD_CLOEXEC|unix.SFD_NONBLOCK, 0, 0)
	if e != 0 {
		exit(124)
	}
	m.signals = r
}

// run makes the calls of the script in a slot. After a failure the answer is filled in.
//
//go:nosplit
//go:norace
//go:nocheckptr
func run(slot uintptr, a *Answer) bool {
	n := (*slotHead)(at(slot)).ncalls
	for i := 0; i < n; i++ {
		o := callAt(slot, i)
		for k := 0; k < len(o.from); k++ {
			if o.from[k] > 0 {
				o.args[k] = uintptr(callAt(slot, int(o.from[k]-1)).result)
			}
		}
		r, _, e := syscall.RawSyscall6(o.nr, o.args[0], o.args[1], o.args[2], o.args[3], o.args[4], o.args[5])
		o.result = int(r)
		if e != 0 {
			o.result = -int(e)
		}
		if (e != 0 && !o.may && uintptr(e) != o.allow) || (e == 0 && o.result < o.least) {
			a.Event, a.Errno, a.PID = Refused, e, int64(i)
			return false
		}
		if e == 0 {
			a.Probes |= o.probe
			i += o.skip
		}
	}
	return true
}

// forget unmaps all memory that is no longer needed: this process should neither keep the parent's
// memory nor let processes inside find it. If the C library has made the kernel write to its memory
// (rseq(2)), nothing can be unmapped: see Env.
//
//go:nosplit
//go:norace
//go:nocheckptr
func forget(m *machine) {
	if watched(m) {
		return
	}
	for low := uintptr(lowest); low < m.top; {
		next := span{m.top, m.top}
		for i := 0; i < m.nkeep; i++ {
			if m.keep[i].high > low && m.keep[i].low < next.low {
				next = m.keep[i]
			}
		}
		if next.low > low {
			if _, _, e := syscall.RawSyscall6(unix.SYS_MUNMAP, low, next.low-low, 0, 0, 0, 0); e != 0 {
				exit(124)
			}
		}
		low = next.high
	}
}

// watched reports whether the kernel writes to an area of the C library whenever this process is
// interrupted: a second area cannot be registered then.
//
//go:nosplit
//go:norace
//go:nocheckptr
func watched(m *machine) bool {
	const signature = 0x53053053
	area := (uintptr(unsafe.Pointer(&m.restart)) + 31) &^ 31
	_, _, e := syscall.RawSyscall6(unix.SYS_RSEQ, area, 32, 0, signature, 0, 0)
	if e == 0 {
		syscall.RawSyscall6(unix.SYS_RSEQ, area, 32, 1 /* RSEQ_FLAG_UNREGISTER */, signature, 0, 0)
	}
	return e != 0 && e != unix.ENOSYS
}

// lowest is the start of a process's address space.
const lowest = 64 << 10

// await returns when a child has ended or a request has arrived.
//
//go:nosplit
//go:norace
//go:nocheckptr
func await(m *machine) {
	for {
		m.wait[0].Fd, m.wait[0].Events, m.wait[0].Revents = int32(m.control), unix.POLLIN, 0
		m.wait[1].Fd, m.wait[1].Events, m.wait[1].Revents = int32(m.signals), unix.POLLIN, 0
		limit := uintptr(0) // no timeout
		if m.more {
			m.pause = unix.Timespec{}
			limit = uintptr(unsafe.Pointer(&m.pause))
		}
		_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&m.wait)), uintptr(len(m.wait)), limit, 0, 0, 0)
		if e == 0 {
			break
		}
		if e != unix.EINTR && e != unix.ENOMEM {
			exit(123)
		}
	}
	if m.wait[1].Revents != 0 {
		// The content, 128 bytes, does not matter. At most one signal is pending: if a second child
		// ends before the first signal is read, no second signal is queued.
		syscall.RawSyscall6(unix.SYS_READ, m.signals, uintptr(unsafe.Pointer(&m.body)), 4096, 0, 0, 0)
	}
}

// reap waits for children that have ended: commands, whose end is reported, and orphans. With
// WNOHANG it stops after reapMost children and sets m.more: orphans may come without end, and
// requests must not wait for them. It reports whether there are no children.
//
//go:nosplit
//go:norace
//go:nocheckptr
func reap(m *machine, options uintptr) bool {
	m.more = false
	for n := 0; ; n++ {
		if n == reapMost && options&unix.WNOHANG != 0 {
			m.more = true
			return false
		}
		pid, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&m.status)), options|unix.WALL, uintptr(unsafe.Pointer(&m.usage)), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 || pid == 0 {
			return e != 0
		}
		for i := 0; i < m.ncommand; i++ {
			if m.commands[i&(maxCommands-1)].pid != pid {
				continue
			}
			m.answer.ID = m.commands[i&(maxCommands-1)].id
			m.ncommand--
			m.commands[i&(maxCommands-1)] = m.commands[m.ncommand&(maxCommands-1)]
			m.answer.Event, m.answer.Wait = Exited, m.status
			m.answer.User = int64(m.usage.Utime.Sec)*1e9 + int64(m.usage.Utime.Usec)*1e3
			m.answer.System = int64(m.usage.Stime.Sec)*1e9 + int64(m.usage.Stime.Usec)*1e3
			m.answer.RSS = int64(m.usage.Maxrss)
			send(m)
			break
		}
	}
}

// send sends the answer, with the descriptor m.give if that is one, and clears both.
//
//go:nosplit
//go:norace
//go:nocheckptr
func send(m *machine) {
	m.vector.base, m.vector.size = uintptr(unsafe.Pointer(&m.answer)), unsafe.Sizeof(m.answer)
	m.message.vectors, m.message.nvectors = uintptr(unsafe.Pointer(&m.vector)), 1
	m.message.control, m.message.ncontrol = 0, 0
	if m.give >= 0 {
		m.rights.size, m.rights.level, m.rights.kind = rightsHead+4, unix.SOL_SOCKET, unix.SCM_RIGHTS
		m.rights.files[0] = int32(m.give)
		m.message.control, m.message.ncontrol = uintptr(unsafe.Pointer(&m.rights)), rightsHead+4
	}
	for {
		_, _, e := syscall.RawSyscall6(unix.SYS_SENDMSG, m.control, uintptr(unsafe.Pointer(&m.message)), unix.MSG_NOSIGNAL, 0, 0, 0)
		if e != unix.EINTR {
			break // a closed connection is noticed on reading
		}
	}
	if m.give >= 0 {
		syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(m.give), 0, 0, 0, 0, 0)
		m.give = -1
	}
	m.answer = Answer{}
}

// rightsHead is the offset of the descriptors in ancillary data.
const rightsHead = unsafe.Offsetof(rights{}.files)

// receive receives the next request, if there is one.
//
//go:nosplit
//go:norace
//go:nocheckptr
func receive(m *machine) bool {
	m.vector.base, m.vector.size = uintptr(unsafe.Pointer(&m.head)), unsafe.Sizeof(m.head)+inlineSize
	m.message.vectors, m.message.nvectors = uintptr(unsafe.Pointer(&m.vector)), 1
	m.message.control, m.message.ncontrol, m.rights.kind = uintptr(unsafe.Pointer(&m.rights)), unsafe.Sizeof(m.rights), 0
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVMSG, m.control, uintptr(unsafe.Pointer(&m.message)), unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT, 0, 0, 0)
	if e == unix.EINTR || e == unix.EAGAIN {
		return false
	}
	if e != 0 || n < unsafe.Sizeof(m.head) {
		exit(0) // the host has disappeared
	}
	m.inline, m.nfiles = n-unsafe.Sizeof(m.head), 0
	if m.message.ncontrol >= rightsHead && m.rights.level == unix.SOL_SOCKET && m.rights.kind == unix.SCM_RIGHTS {
		m.nfiles = min((int(m.rights.size)-int(rightsHead))/4, 4)
	}
	return true
}

// done closes the descriptors that came with a request.
//
//go:nosplit
//go:norace
//go:nocheckptr
func done(m *machine) {
	for i := 0; i < m.nfiles; i++ {
		syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(m.rights.files[i&3]), 0, 0, 0, 0, 0)
	}
}

// start forks a command and fills in the answer. In the command's process it returns true.
//
//go:nosplit
//go:norace
//go:nocheckptr
func start(m *machine) bool {
	m.answer.Event, m.answer.Stage = Failed, StageFork
	if m.ncommand >= maxCommands {
		m.answer.Errno = unix.EAGAIN
		return false
	}
	size := uintptr(m.head.size)
	m.at = uintptr(unsafe.Pointer(&m.body))
	if m.nfiles == 4 {
		r, _, e := syscall.RawSyscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE, uintptr(m.rights.files[3]), 0)
		if e != 0 {
			m.answer.Errno = e
			return false
		}
		m.at = r
	} else if m.nfiles != 3 || m.inline != size {
		m.answer.Errno = unix.EINVAL
		return false
	}
	relocate(m)
	r := (*report)(at(m.report))
	r.stage = 0
	// The child's end of the pipe closes when the child has executed its program or ended.
	if _, _, e := syscall.RawSyscall6(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&m.born)), unix.O_CLOEXEC, 0, 0, 0, 0); e != 0 {
		m.answer.Errno = e
		unmapBody(m)
		return false
	}
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		return true
	}
	syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(m.born[1]), 0, 0, 0, 0, 0)
	late := e == 0 && !bear(m, pid)
	syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(m.born[0]), 0, 0, 0, 0, 0)
	unmapBody(m)
	switch {
	case e != 0:
		m.answer.Errno = e
	case late:
		m.answer.Errno = unix.ETIMEDOUT
	case r.stage != 0:
		bury(pid)
		m.answer.Stage, m.answer.Errno, m.answer.Path = r.stage, syscall.Errno(r.errno), r.path
	default:
		m.commands[m.ncommand&(maxCommands-1)] = command{m.head.id, pid}
		m.ncommand++
		m.answer.Event, m.answer.PID, m.answer.Stage = Started, int64(pid), 0
	}
	return false
}

// unmapBody unmaps a body that came as a file.
//
//go:nosplit
//go:norace
//go:nocheckptr
func unmapBody(m *machine) {
	if m.nfiles == 4 {
		syscall.RawSyscall6(unix.SYS_MUNMAP, m.at, uintptr(m.head.size), 0, 0, 0, 0)
	}
}

// bear waits until a child has executed its program or ended. A process inside runs as the same
// user and can stop the child before that, but must not stop us by it (so this cannot be a vfork).
// The child is made to continue, and is killed if that does not help; bear then returns false, and
// the child is left to be reaped.
//
//go:nosplit
//go:norace
//go:nocheckptr
func bear(m *machine, pid uintptr) bool {
	for i, stops := 0, 0; i < bearTries && stops < bearStops; i++ {
		m.wait[0].Fd, m.wait[0].Events, m.wait[0].Revents = m.born[0], 0, 0
		m.wait[1].Fd, m.wait[1].Events, m.wait[1].Revents = int32(m.control), 0, 0
		m.pause.Sec, m.pause.Nsec = 0, bearPause
		_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&m.wait)), uintptr(len(m.wait)), uintptr(unsafe.Pointer(&m.pause)), 0, 0, 0)
		if e == 0 && m.wait[0].Revents != 0 {
			return true
		}
		if e == 0 && m.wait[1].Revents != 0 {
			break // the host has disappeared
		}
		m.info[0] = 0
		syscall.RawSyscall6(unix.SYS_WAITID, unix.P_PID, pid, uintptr(unsafe.Pointer(&m.info)), unix.WSTOPPED|unix.WNOHANG, 0, 0)
		if m.info[0] != 0 {
			stops++
			syscall.RawSyscall6(unix.SYS_KILL, pid, uintptr(unix.SIGCONT), 0, 0, 0, 0)
		}
	}
	syscall.RawSyscall6(unix.SYS_KILL, pid, uintptr(unix.SIGKILL), 0, 0, 0, 0)
	return false
}

// relocate converts the offsets at the start of a body into addresses.
//
//go:nosplit
//go:norace
//go:nocheckptr
func relocate(m *machine) {
	words := uintptr(m.head.args) + 1 + uintptr(m.head.env) + 1 + uintptr(m.head.paths)
	for i := uintptr(0); i < words; i++ {
		word := (*uint64)(at(m.at + 8*i))
		if *word != 0 {
			*word += uint64(m.at)
		}
	}
}

// bury waits for a child that did not become a command.
//
//go:nosplit
//go:norace
//go:nocheckptr
func bury(pid uintptr) {
	for {
		if _, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, pid, 0, unix.WALL, 0, 0, 0); e != unix.EINTR {
			return
		}
	}
}

// become turns a new process into the command. If that fails, it reports the reason and returns.
//
//go:nosplit
//go:norace
//go:nocheckptr
func become(m *machine) {
	r := (*report)(at(m.report))
	r.path, r.errno = 0, 0
	syscall.RawSyscall6(unix.SYS_SETSID, 0, 0, 0, 0, 0, 0)
	for i := 0; i < 3; i++ {
		if _, _, e := syscall.RawSyscall6(unix.SYS_DUP3, uintptr(m.rights.files[i]), uintptr(i), 0, 0, 0, 0); e != 0 {
			r.errno, r.stage = uint32(e), StageFiles
			return
		}
	}
	// Keep the pipe, under the only number that close_range leaves open.
	syscall.RawSyscall6(unix.SYS_DUP3, uintptr(m.born[1]), bornFD, unix.O_CLOEXEC, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, bornFD+1, uintptr(^uint32(0)), 0, 0, 0, 0)
	if m.head.data > 0 {
		m.limit[0], m.limit[1] = m.head.data, m.head.data
		if _, _, e := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(&m.limit)), 0, 0, 0); e != 0 {
			r.errno, r.stage = uint32(e), StageFiles
			return
		}
	}
	if _, _, e := syscall.RawSyscall6(unix.SYS_CHDIR, m.at+uintptr(m.head.dir), 0, 0, 0, 0, 0); e != 0 {
		r.errno, r.stage = uint32(e), StageDir
		return
	}
	block(m, 0)
	execute(m, r)
}

// execute tries the program's paths one after the other.
//
//go:nosplit
//go:norace
//go:nocheckptr
func execute(m *machine, r *report) {
	env := m.at + 8*(uintptr(m.head.args)+1)
	paths := env + 8*(uintptr(m.head.env)+1)
	r.errno = uint32(unix.ENOENT)
	for i := uint32(0); i < m.head.paths; i++ {
		_, _, e := syscall.RawSyscall6(unix.SYS_EXECVE, uintptr(*(*uint64)(at(paths + 8*uintptr(i)))), m.at, env, 0, 0, 0)
		if e == unix.EACCES && r.errno == uint32(unix.ENOENT) {
			r.errno, r.path = uint32(e), i
		}
		if e != unix.EACCES && e != unix.ENOENT && e != unix.ENOTDIR {
			r.errno, r.path = uint32(e), i
			break
		}
	}
	r.stage = StageExec
}

// signal sends a signal to the process group of a command.
//
//go:nosplit
//go:norace
//go:nocheckptr
func signal(m *machine) syscall.Errno {
	for i := 0; i < m.ncommand; i++ {
		c := &m.commands[i&(maxCommands-1)]
		if c.id != m.head.data {
			continue
		}
		_, _, e := syscall.RawSyscall6(unix.SYS_KILL, -c.pid, uintptr(m.head.args), 0, 0, 0, 0)
		if e == unix.ESRCH {
			_, _, e = syscall.RawSyscall6(unix.SYS_KILL, c.pid, uintptr(m.head.args), 0, 0, 0, 0)
		}
		return e
	}
	return unix.ESRCH
}

// reset kills all other processes and returns when they are gone. When PID 1 sends the signal, it
// reaches every process in the namespace, and none can escape by forking: the kernel walks the list
// of all processes under a lock. It is not needed if there are no children, since a process that
// loses its parent becomes our child.
//
//go:nosplit
//go:norace
//go:nocheckptr
func reset(m *machine) {
	for !reap(m, unix.WNOHANG) {
		syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0, 0, 0)
		reap(m, 0)
	}
}

// listen opens a socket to be passed out.
//
//go:nosplit
//go:norace
//go:nocheckptr
func listen(m *machine) syscall.Errno {
	if m.inline != uintptr(m.head.size) {
		return unix.EINVAL
	}
	s, _, e := syscall.RawSyscall6(unix.SYS_SOCKET, uintptr(m.head.args), uintptr(m.head.env)|unix.SOCK_CLOEXEC, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	m.give = int(s)
	if m.head.paths > 0 {
		m.status = 1
		syscall.RawSyscall6(unix.SYS_SETSOCKOPT, s, unix.SOL_SOCKET, unix.SO_REUSEADDR, uintptr(unsafe.Pointer(&m.status)), 4, 0)
	}
	_, _, e = syscall.RawSyscall6(unix.SYS_BIND, s, uintptr(unsafe.Pointer(&m.body)), m.inline, 0, 0, 0)
	if e == 0 && m.head.paths > 0 {
		_, _, e = syscall.RawSyscall6(unix.SYS_LISTEN, s, uintptr(m.head.paths), 0, 0, 0, 0)
	}
	if e != 0 {
		syscall.RawSyscall6(unix.SYS_CLOSE, s, 0, 0, 0, 0, 0)
		m.give = -1
	}
	return e
}
