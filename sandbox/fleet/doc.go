// Package fleet runs sandboxed commands on many hosts: jobs that any host of a class may run, and
// sandboxes that are leased on one host for a time.
//
// Start here, with everything in one process:
//
//	engine := fleet.NewLocal(fleet.LocalConfig{})
//	host, err := fleet.NewHost(fleet.HostConfig{Engine: engine, Classes: []string{"go"}, Backend: fleet.PoolBackend(pool, snaps)})
//	go host.Run(ctx)
//	client := fleet.NewClient(engine, "me")
//	result, err := client.Run(ctx, &fleet.Job{Class: "go", Snapshot: "repo", Command: fleet.Command{Args: []string{"go", "test", "./..."}}})
//
// For many machines only the engine changes: [StartServer] starts a NATS server inside a process in
// some milliseconds, and [Connect] joins it from the others, or joins an existing cluster.
//
// # Jobs
//
// A [Job] waits in the queue of its class, which all hosts of the class pull from. A host stores
// the [Result] before it takes the job out of the queue. A host that dies, is stopped or is cut off
// therefore loses no job: the job is delivered again, and may be run again, but of all its results
// only the first counts, and it is never replaced. A command with effects outside its sandbox must
// bear that repetition. A job that does not finish on several hosts is given up with a Result that
// says so (Job.MaxAttempts).
//
// # Leases
//
// [Client.Open] leases a sandbox: the client chooses a host ([Place]), takes a [Lease] in the
// engine and opens the sandbox on the host. The [Session] renews the lease; if the client dies, or
// the host cannot see the lease any more, the host ends the sandbox and what runs in it. Every
// lease has an epoch greater than all before. The host compares it at every command, so a client
// that was stopped and wakes after another took its sandbox cannot act in it. No command begins
// while the host cannot look at a lease that it has not seen recently. If the answer of a command
// is lost, the client asks again; the command does not run again.
//
// # Engines
//
// [Engine] is the interface to queues, leases and messages. There are two: [NewLocal], and
// [Connect] over NATS JetStream, where jobs are a work-queue stream with one pull consumer for each
// class, leases are keys that lapse, and an epoch is the sequence number of the message that made
// the key. Package fleettest has the suite that both pass.
//
// # Back ends
//
// A [Backend] opens boxes: sandboxes of a sandbox.Pool ([PoolBackend]), which serves waiting
// requests by priority and in turns between tenants, OCI containers by an installed runtime such as
// runsc (package oci), or virtual machines (package microvm). [Runner] is any other way to run a
// job. Package sim predicts waits for a fleet and load of given size.
//
// # Trust model
//
// Hosts, clients and the engine trust each other: whoever can connect to the engine can run
// commands on every host and read every result. Give the engine a token or accounts, and TLS beyond
// one machine; an embedded server refuses to listen for others without. Commands are hostile; the
// back end confines them, and a Result lists the walls that stood. A job names snapshots, never
// paths of a host. Messages are bounded in size and checked before use.
//
// # Limits
//
//   - The package does not encrypt the stored streams.
//   - Jobs are not placed by snapshot, only leased sandboxes are. A class directs jobs.
//   - Sessions wait at a host in turns between tenants, without priority.
//   - A host trusts its own clock to measure durations.
//   - If the engine loses its storage, epochs begin again; hosts then refuse leases of the old
//     keys' names only while they hold the old ones.
//   - Without replicas, a NATS server that is lost takes the queue with it.
//   - Package microvm is tested without booting a virtual machine.
//
// # Terms
//
//   - class: a kind of host, such as "go". Jobs and leases name one.
//   - box: an open sandbox, container or virtual machine of a back end.
//   - epoch: the number of a lease, greater than that of every earlier one.
//   - receipt: the handle of a delivered job, by which a host extends, finishes or returns it.
package fleet
