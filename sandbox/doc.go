// Package sandbox runs commands over a workspace, isolated as far as the host
// allows, and says exactly how far that was.
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
// [Config.Dir] binds a directory in place: commands change the real files.
// [Config.Snapshot] gives commands a private, writable view of a directory
// ([SnapshotDir]) or a git commit ([SnapshotCommit]); the original is never
// written. [Differ] lists what changed in it, [Exporter] shows it and brings it out
// after a [Review], [Forker] and [Restorer] go on from a state or back to it,
// [Adopter] goes on from the best of several forks, and [DryRunner] tries a command
// first. Commits are kept and shared in [Layers].
//
// # Init
//
// Sandboxes are made by a copy of the embedding program, the broker: the program
// executes itself once more and forks the first process of each sandbox, which
// walls itself in and starts commands. [Init] is the hook by which that copy is
// taken over before the host's own main runs; it returns at once in the host
// itself. A host that does not call it gets [ErrInit] for every tier above
// [TierNone].
//
// # Trust model
//
// The command is hostile, the host and the kernel are trusted. At
// [TierNamespaces] a command runs as an unprivileged user without
// capabilities, in its own user, mount, PID, network, IPC, UTS and cgroup
// namespaces. It reads the system directories and the detected tool chains; it
// writes the workspace, a private /tmp, /dev/shm and home, and nothing else. It
// reaches no network but its own loopback; if [Config.Net] names hosts, a proxy in
// the host's process listens there and lets connections through to those names,
// after a look at name, address, and what TLS or HTTP ask for. A listed host is
// trusted with whatever commands can read. A seccomp filter refuses the calls
// that have no place in a build, among them those that would leave a setuid
// file behind. When the host is root the command is not: it runs under an
// unprivileged uid that owns nothing on the host, and a directory in place
// reaches it through an id-mapped mount.
//
// What is left open: world-readable files below /etc and the system
// directories can be read, and so can the tool chain caches. Memory and processor
// time of the sandbox as a whole, and what it writes, are limited only on request
// ([Limits].MemoryTotal, CPU and Disk), and directories in place never;
// [Isolation].Limits tells by what each limit is kept. A Unix socket that a host
// process keeps inside a granted directory can be connected to. A workspace in place
// can be changed in ways the host may execute later (.git/hooks, .git/config,
// Makefile, editor tasks): do not run the host's git or build there afterwards
// without looking. A kernel bug is not defended against. [Isolation.Missing] repeats
// what applies.
//
// # Refusals
//
// What a wall refused is listed in [Exit].Denials, as the kernel's seccomp
// listener or the proxy saw it, with the smallest grant that would allow it.
// Whoever decides to allow it can do so for one exact command with [Approver];
// no field of [Cmd] takes a wall down.
//
// # Processes
//
// A command ends when its process exits, never when its pipes do: what is
// already written is read, and a background process that still holds them does
// not delay the result. Timeout and cancellation kill the whole tree,
// including processes that left the group by setsid. Output is kept in bounded
// memory, head and tail, with the complete stream spilled to a writer.
package sandbox
