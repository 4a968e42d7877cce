// Package sandbox runs commands over a workspace with the strongest isolation that the host allows,
// and reports exactly which isolation that was.
//
// Start here:
//
//	func main() {
//		sandbox.Init() // first line of main and of TestMain, see below
//		...
//		sb, err := sandbox.Local(ctx, sandbox.Config{Dir: "/path/to/repo"})
//		if err != nil { ... }
//		defer sb.Close()
//		exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"go", "test", "./..."}, Timeout: time.Minute})
//		fmt.Println(exit.Code, exit.Stdout, exit.Isolation)
//	}
//
// # Workspaces
//
// [Config.Dir] binds a directory in place: commands change the real files. [Config.Snapshot] gives
// commands a private, writable view of a directory ([SnapshotDir]) or a git commit
// ([SnapshotCommit]); the original is never written. [Differ] lists what changed in it, [Exporter]
// shows the change and writes it out after a [Review], [Forker] and [Restorer] continue from a
// state or go back to it, [Adopter] continues from the best of several forks, and [DryRunner] tries
// a command first. Commits are kept and shared in [Layers].
//
// [Treer] opens the workspace for the host's own process, so that file tools, checkpoints and an
// index work on what commands see. A snapshot and a fork have no path on the host; never look for
// one below /proc.
//
// # Init
//
// A copy of the embedding program, the broker, makes the sandboxes: the program executes itself
// once more and forks the init process of each sandbox, which confines itself and starts commands.
// [Init] takes that copy over before the host's main runs; in the host itself it returns at once. A
// host that does not call it gets [ErrInit] for every tier above [TierNone].
//
// # Trust model
//
// The command is hostile, the host and the kernel are trusted. At [TierNamespaces] a command runs
// as an unprivileged user without capabilities, in its own user, mount, PID, network, IPC, UTS and
// cgroup namespaces. It reads the system directories and the detected tool chains; it writes the
// workspace, a private /tmp, /dev/shm and home, and nothing else. It reaches no network except its
// own loopback. If [Config.Net] names hosts, a proxy in the host's process listens there and lets
// connections through to those names, after checking the name, the address, and the name that TLS
// or HTTP ask for. A listed host is trusted with whatever commands can read. A seccomp filter
// refuses the calls that no build needs, among them those that would leave a setuid file behind. If
// the host is root the command is not: it runs under an unprivileged uid that owns nothing on the
// host, and a directory in place reaches it through an id-mapped mount.
//
// What stays open: world-readable files below /etc and the system directories can be read, and so
// can the tool chain caches. Memory and processor time of the sandbox as a whole, and what it
// writes, are limited only on request ([Limits].MemoryTotal, CPU and Disk), and directories in
// place never; [Isolation].Limits reports by what each limit is kept. A Unix socket that a host
// process keeps inside a granted directory can be connected to. A workspace in place can be changed
// in ways the host may execute later: a Makefile or a build script, and files of the kinds that are
// read-only if they exist, but did not exist when the sandbox opened. Do not run the host's git or
// build there afterwards without a [Review]. There is no defence against a kernel
// bug. [Isolation.Missing] lists what applies.
//
// # Refusals
//
// [Exit].Denials lists what a wall refused, as the kernel's seccomp listener or the proxy saw it,
// with the smallest grant that would allow it. The host can allow it for one exact command with
// [Approver]; no field of [Cmd] removes a wall.
//
// # Processes
//
// A command ends when its process exits, never when its pipes do: what is already written is read,
// and a background process that still holds them does not delay the result. Timeout and
// cancellation kill the whole tree, including processes that left the group by setsid. Output is
// kept in bounded memory, head and tail, with the complete stream spilled to a writer.
//
// # Limits
//
// Of resources:
//
//   - [Limits].Disk and Inodes are off by default, because they keep what they bound in memory
//     (tmpfs): a size on the disk cannot be bounded without its owner. Directories in place and
//     lower tiers have no such limit. System V shared memory is bounded only if the host is root.
//   - Eight sandboxes that take all the inotify instances they may have exhaust the default of 128
//     of the user that made them.
//   - Copying a workspace (a fork without an overlay) does not end with its context. A checkout of
//     a commit goes by paths, 512 levels at most.
//
// Of isolation:
//
//   - ptrace is refused inside: no strace, delve or LeakSanitizer. LSAN_OPTIONS turns its check
//     off; the rest of the address sanitizer works.
//   - Landlock has no rules for files in a sandbox that gets its workspace at a lease, because
//     rules cannot be added. POSIX message queues cannot be opened under it.
//   - [Approver] does not hash the program's file. If several commands run at once, the egress
//     proxy's refusals are reported for the sandbox, not for one command.
//   - In place as root, files of owners other than the directory's own keep only the rights of
//     their mode bits, because one id is mapped. An overlay cannot copy up a file whose owner is
//     unmapped.
//   - In place, at most 512 paths are protected, and repositories are looked for among the first
//     400,000 names. Directories that contain something protected cannot be renamed or removed.
//   - What hooks and programs of the host execute in turn, such as a script that a hook calls, is
//     not followed.
//   - An overlay shows later changes of the live directory below it, see [SnapshotDir].
//   - Where the workspace is a copy or in place, the kernel does not refuse writes by a descriptor
//     that a host keeps of a [Tree] over a fork; it reaches only that sandbox's own copy.
//   - If the host is root, the broker mounts the overlay for a lease with root's credentials; a
//     cold start mounts it in the sandbox's namespace.
//   - If the C library ignores GLIBC_TUNABLES and registers rseq in the broker, init processes keep
//     the broker's memory mapped. They are not dumpable, so nobody inside can read it.
//
// Of processes:
//
//   - Process.Kill misses a process that dropped environment, session and parent. Close ends it.
//   - Without a PID namespace, such a process can outlive the sandbox: at [TierNone], and at
//     [TierLandlock] if a command also kills the supervisor.
//   - At the tiers with a supervisor ([TierBubblewrap], [TierLandlock]), a supervisor that needs
//     another thread while its sandbox is at its limit of processes ends, and the sandbox with it.
//     This was seen only with the race detector.
//
// Of systems:
//
//   - [TierLandlock] has no sockets, not even loopback, and host process names are visible.
//   - [TierBubblewrap] was run with bwrap 0.8 as an ordinary user. Its tests skip where bwrap is
//     not installed.
//   - [TierSeatbelt] (macOS) was compiled and vetted but never run. Windows has [TierNone] only,
//     which was never run there.
//   - The seccomp filter exists for amd64 (run) and arm64 (only vetted). Other architectures report
//     the wall as missing.
//   - Hosts with a masked /proc, such as a default Docker container, cannot mount their own. They
//     fall to the next tier or fail closed; this was not tried.
//
// # Terms
//
//   - tier: a kind of isolation; see [Tier]. A wall is one part of it, such as the mount namespace
//     or the seccomp filter.
//   - broker: the copy of the host's program that makes sandboxes and watches them from outside.
//   - fork server: a process without memory of the program that forks init processes for the
//     broker.
//   - init process: the first process of a sandbox. It starts the commands and is no Go program
//     (see internal/initproc).
//   - supervisor: the program executed inside a sandbox at tiers whose namespaces others make.
//   - guest: the user that commands run as, and what belongs to that user.
//   - box: a sandbox as its broker sees it.
//   - spare: a sandbox of a [Pool] that is ready. A blank has no workspace yet and gets one at a
//     lease.
//   - lease: a sandbox of a [Pool] in use. See [Pool.Acquire].
//   - fingerprint: the description of a directory that holds only empty directories. It shows that
//     a lease left nothing there.
//   - lineage: the process ids that link a process to its command.
//   - layers: the store of files of commits and snapshots that sandboxes share. See [Layers].
package sandbox
