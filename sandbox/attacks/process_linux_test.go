package attacks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackProcesses(t *testing.T) {
	t.Parallel()
	runAttacks(t, "processes")
}

// onVictim returns an attack by PID on a process of the host.
func onVictim(name, does string, f func(pid int) error, bit func(*bed) string) attack {
	prog := attackProgram("victim: "+name, func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return f(pid)
	})
	return attack{name: name, does: does, prog: prog, bit: bit, want: "ESRCH|ENOENT|EPERM|EACCES",
		args: func(b *bed) []string { return []string{b.victim().pid()} }}
}

func init() {
	attacks["processes"] = []attack{
		onVictim("kill", "kills a host process", func(pid int) error { return unix.Kill(pid, unix.SIGKILL) }, victimDies),
		onVictim("stop", "stops a host process", func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }, victimStops),
		onVictim("kill a group", "kills a group of host processes", func(pid int) error { return unix.Kill(-pid, unix.SIGKILL) }, victimDies),
		onVictim("kill a thread", "kills by tgkill", func(pid int) error { return unix.Tgkill(pid, pid, unix.SIGKILL) }, victimDies),
		onVictim("kill by descriptor", "kills by pidfd_send_signal", func(pid int) error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}, victimDies),
		onVictim("kill by queue", "kills by rt_sigqueueinfo", func(pid int) error {
			info := [128]byte{0: byte(unix.SIGKILL)}
			*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
			_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGKILL), uintptr(unsafe.Pointer(&info)))
			return errnoErr(errno)
		}, victimDies),
		onVictim("trace", "attaches to a host process", func(pid int) error {
			runtime.LockOSThread()
			if err := unix.PtraceAttach(pid); err != nil {
				return err
			}
			var ws unix.WaitStatus
			if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
				return err
			}
			return unix.Kill(pid, unix.SIGKILL)
		}, victimDies),
		onVictim("renice", "slows a host process down", func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 15) }, func(b *bed) string {
			if n, err := unix.Getpriority(unix.PRIO_PROCESS, b.victim().cmd.Process.Pid); err == nil && 20-n == 15 {
				return "the victim's priority is 15"
			}
			return ""
		}),
		onVictim("affinity", "binds a host process to one processor", func(pid int) error {
			var one unix.CPUSet
			one.Set(0)
			return unix.SchedSetaffinity(pid, &one)
		}, func(b *bed) string {
			var all, now unix.CPUSet
			_ = unix.SchedGetaffinity(0, &all)
			if err := unix.SchedGetaffinity(b.victim().cmd.Process.Pid, &now); err == nil && now.Count() == 1 && all.Count() > 1 {
				return "the victim has one processor"
			}
			if all.Count() < 2 && b.sb == nil {
				return "there is one processor only"
			}
			return ""
		}),
		onVictim("limits", "lowers a host process's limits", func(pid int) error {
			return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 7, Max: 7}, nil)
		}, func(b *bed) string {
			var now unix.Rlimit
			if err := unix.Prlimit(b.victim().cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &now); err == nil && now.Max == 7 {
				return "the victim may open seven files"
			}
			return ""
		}),
		onVictim("killer's favourite", "makes a host process the first to be killed for memory", func(pid int) error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("777")
			return err
		}, func(b *bed) string {
			if strings.TrimSpace(read(b.t, "/proc/"+b.victim().pid()+"/oom_score_adj")) == "777" {
				return "the victim's score is 777"
			}
			return ""
		}),
		onVictim("scheduler", "puts a host process behind all others", func(pid int) error {
			var param int32
			_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&param)))
			return errnoErr(errno)
		}, func(b *bed) string {
			policy, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(b.victim().cmd.Process.Pid), 0, 0)
			if errno == 0 && policy == unix.SCHED_IDLE {
				return "the victim runs when nobody else does"
			}
			return ""
		}),
		{name: "environments", does: "copies every process's environment", prog: "sh", bit: secretOut,
			args: func(b *bed) []string {
				b.victim()
				return []string{`for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || cat $p/environ; done > loot 2>/dev/null; true`}
			}, want: "ok"},
		{name: "command lines", does: "copies every process's arguments", prog: "sh", bit: secretOut,
			args: func(b *bed) []string {
				b.victim()
				return []string{`cat /proc/[0-9]*/cmdline > loot 2>/dev/null; true`}
			}, want: "ok"},
		{name: "shared memory", does: "writes to a System V segment of the host's", prog: attackProgram("sysv-shm", sysvWrite), want: "ENOENT",
			args: func(b *bed) []string { return []string{b.segment()} }, bit: segmentHurt},
		{name: "message queue", does: "sends to a System V queue of the host's", prog: attackProgram("sysv-msg", sysvSend), want: "ENOENT",
			args: func(b *bed) []string { return []string{b.queue()} }, bit: queueHurt},
		{name: "named queue", does: "opens a POSIX queue of the host's", prog: attackProgram("mq", func(a []string) error {
			_, err := mqOpen(a[0], unix.O_WRONLY)
			return err
		}), want: "ENOENT", bit: claimed, args: func(b *bed) []string {
			name := "luthier-" + b.secret
			if _, err := mqOpen(name, unix.O_CREAT|unix.O_RDWR); err != nil {
				b.t.Skipf("this host has no queues: %v", err)
			}
			b.undo = append(b.undo, func() { mqUnlink(name) })
			return []string{name}
		}},
		{name: "user namespace", does: "makes a user namespace, in which it would be root", prog: attackProgram("newuser", func([]string) error { return forkIn(unix.CLONE_NEWUSER) }), want: "EPERM", bit: claimed},
		{name: "user namespace by clone3", does: "asks with its flags behind a pointer", prog: attackProgram("clone3", clone3User), want: "ENOSYS", bit: claimed},
		{name: "user namespace by unshare", does: "leaves its own user namespace", prog: attackProgram("unshare-user", func([]string) error {
			return syscall.Exec("/usr/bin/unshare", []string{"unshare", "-U", "true"}, os.Environ())
		}), want: "status 1|EPERM", bit: claimed, needs: func() string {
			if _, err := os.Stat("/usr/bin/unshare"); err != nil {
				return "unshare is not installed"
			}
			return ""
		}},
		{name: "mount namespace", does: "makes mounts of its own", prog: attackProgram("newns", func([]string) error { return forkIn(unix.CLONE_NEWNS) }), root: true, want: "EPERM", bit: claimed},
		{name: "network namespace", does: "makes a network of its own", prog: attackProgram("newnet", func([]string) error { return forkIn(unix.CLONE_NEWNET) }), root: true, want: "EPERM", bit: claimed},
		{name: "time namespace", does: "makes a clock of its own", prog: attackProgram("newtime", func([]string) error { return unix.Unshare(unix.CLONE_NEWTIME) }), root: true, want: "EPERM", bit: claimed},
		{name: "join a namespace", does: "joins the namespaces of process 1, or the host's victim", prog: attackProgram("join", joinAll), root: true, want: "EPERM|EACCES|ENOENT", bit: claimed,
			args: func(b *bed) []string {
				if b.sb == nil {
					return []string{b.victim().pid()}
				}
				return []string{"1"}
			}},
		{name: "kill everyone", does: "signals every process it may", prog: attackProgram("kill-all", func([]string) error { return unix.Kill(-1, unix.SIGKILL) }),
			alone: true, noControl: "it would end every process of the user's", bit: sandboxGone},
		{name: "speak for the supervisor", does: "looks for the control socket and the supervisor's memory", alone: true, noControl: "there is no supervisor outside",
			want: "EACCES|EPERM|ENOENT", bit: claimed, prog: attackProgram("supervisor", func([]string) error {
				var err error
				for _, p := range []string{"/proc/1/mem", "/proc/1/fd/3", "/proc/1/environ", "/proc/1/root", "/proc/1/map_files", "/proc/1/task/1/mem"} {
					f, openErr := os.OpenFile(p, os.O_RDONLY, 0)
					if openErr == nil {
						f.Close()
						return nil
					}
					err = openErr
				}
				return err
			})},
	}
}

func errnoErr(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// victimDies checks for a deadly signal, which takes effect before the sender sees its call return.
func victimDies(b *bed) string {
	v := b.victim()
	if b.sb != nil {
		return victimHurt(b)
	}
	if _, err := v.cmd.Process.Wait(); err != nil {
		return ""
	}
	return "the victim is dead"
}

func victimStops(b *bed) string {
	v := b.victim()
	if b.sb != nil {
		return victimHurt(b)
	}
	eventually(b.t, "stop of the victim", func() bool { return stopped(v.cmd.Process.Pid) })
	_ = unix.Kill(v.cmd.Process.Pid, unix.SIGCONT)
	return "the victim is stopped"
}

// sandboxGone reports that the sandbox runs no more commands.
func sandboxGone(b *bed) string {
	exit, err := b.sb.Exec(b.t.Context(), sandbox.Cmd{Args: []string{"true"}, Timeout: attackTimeout})
	if err != nil || !exit.Success() {
		return fmt.Sprintf("the sandbox is dead: %v %v", exit, err)
	}
	return ""
}

// forkIn runs a program in new namespaces.
func forkIn(flags uintptr) error {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err != nil {
		return err
	}
	var ws syscall.WaitStatus
	_, err = syscall.Wait4(pid, &ws, 0, nil)
	return err
}

// clone3User forks by clone3 into a new user namespace; the child ends at once.
func clone3User([]string) error {
	args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{flags: unix.CLONE_NEWUSER, exitSignal: uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(int(pid), &ws, 0, nil)
	return err
}

func joinAll(a []string) error {
	names, err := filepath.Glob("/proc/" + a[0] + "/ns/*")
	if err != nil || len(names) == 0 {
		return errors.Join(err, unix.ENOENT)
	}
	runtime.LockOSThread()
	last := error(unix.ENOENT)
	for _, n := range names {
		fd, err := unix.Open(n, unix.O_RDONLY, 0)
		if err != nil {
			last = err
			continue
		}
		if err := unix.Setns(fd, 0); err == nil {
			return nil
		}
		last = unix.EPERM
	}
	return last
}

// segment makes shared memory on the host that anyone may write.
func (b *bed) segment() string {
	key := os.Getpid()<<8 | int(b.secret[len(b.secret)-1])
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		b.t.Skipf("no shared memory here: %v", err)
	}
	b.undo = append(b.undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	b.state["segment"] = id
	return strconv.Itoa(key)
}

func segmentHurt(b *bed) string {
	mem, err := unix.SysvShmAttach(b.state["segment"].(int), 0, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.SysvShmDetach(mem)
	if mem[0] != 0 {
		return fmt.Sprintf("the segment holds %q", mem[:4])
	}
	return ""
}

func sysvWrite(a []string) error {
	key, _ := strconv.Atoi(a[0])
	id, err := unix.SysvShmGet(key, 0, 0)
	if err != nil {
		return err
	}
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(mem, "evil")
	return nil
}

// queue makes a message queue on the host that anyone may send to.
func (b *bed) queue() string {
	key := os.Getpid()<<8 | int(b.secret[len(b.secret)-1])
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(key), unix.IPC_CREAT|0o666, 0)
	if errno != 0 {
		b.t.Skipf("no queues here: %v", errno)
	}
	b.undo = append(b.undo, func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
	b.state["queue"] = id
	return strconv.Itoa(key)
}

func queueHurt(b *bed) string {
	var msg [72]byte
	n, _, errno := unix.Syscall6(unix.SYS_MSGRCV, b.state["queue"].(uintptr), uintptr(unsafe.Pointer(&msg)), 64, 0, 0o4000, 0)
	if errno == 0 {
		return fmt.Sprintf("the queue had a message of %d bytes", n)
	}
	return ""
}

func sysvSend(a []string) error {
	key, _ := strconv.Atoi(a[0])
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(key), 0, 0)
	if errno != 0 {
		return errno
	}
	msg := struct {
		kind int64
		text [8]byte
	}{kind: 1}
	_, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&msg)), 8, 0, 0, 0)
	return errnoErr(errno)
}

// mqOpen opens a POSIX queue and closes it again.
func mqOpen(name string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0o666, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), unix.Close(int(fd))
}

func mqUnlink(name string) {
	if p, err := unix.BytePtrFromString(name); err == nil {
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0)
	}
}
