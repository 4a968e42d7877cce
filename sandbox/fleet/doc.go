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
// For many machines, only the engine is different: [StartServer] starts a NATS server inside a
// process in some milliseconds, and [Connect] joins it from the others, or joins an existing
// cluster.
//
// # Jobs
//
// A [Job] waits in the queue of its class, which all hosts of the class pull from. A host stores
// the [Result] before it takes the job out of the queue. So no job is lost if a host dies, is
// stopped or is cut off: the job is delivered again, and may be run again, but only its first
// result counts, which is never replaced. A command with effects outside its sandbox must tolerate
// this repetition. A job that does not finish on several hosts is given up, with a Result that
// states this (see Job.MaxAttempts).
//
// # Leases
//
// [Client.Open] leases a sandbox: the client chooses a host ([Place]), takes a [Lease] in the
// engine and opens the sandbox on the host. The [Session] renews the lease; if the client dies, or
// the host cannot verify the lease any more, the host ends the sandbox and the commands in it.
// Every lease has an epoch that is greater than all earlier ones. The host compares the epoch at
// every command. So a client that was stopped, and wakes after another client took over its
// sandbox, cannot act in it. No command begins while the host cannot look up the lease. If the
// answer to a command is lost, the client asks again, but the command is not run again.
//
// # Tools
//
// [Session.Tools] runs whole tool calls next to a leased box, if the host has [HostConfig].Tools.
// It is the protocol of package remote in messages of the engine: calls run once, logs are read on
// after an interruption, questions and long texts work. A message has at most 640 KiB of it, which
// limits the arguments of a call.
//
// # Engines
//
// [Engine] is the interface to queues, leases and messages. There are two: [NewLocal], and
// [Connect] over NATS JetStream, where jobs are a work-queue stream with one pull consumer for each
// class, leases are keys that expire, and an epoch is the sequence number of the message that
// created the key. Package fleettest has the test suite that both pass.
//
// # Back ends
//
// A [Backend] opens boxes: sandboxes of a sandbox.Pool ([PoolBackend]), which serves waiting
// requests by priority and in turns between tenants, OCI containers by an installed runtime such as
// runsc (package oci), or virtual machines (package microvm). A [Runner] can run jobs in any other
// way. Package sim predicts waiting times for a fleet and a load of a given size.
//
// # Trust model
//
// Hosts, clients and the engine trust each other: whoever can connect to the engine can run
// commands on every host and read every result. So the engine needs a token or accounts, and TLS if
// there is more than one machine; without a token or accounts, an embedded server refuses to listen
// for other machines. Commands are assumed to be hostile; the back end confines them, and a Result
// lists the walls that were in force. A job names snapshots, never paths of a host. Messages are
// limited in size and checked before use.
//
// # Limits
//
//   - The package does not encrypt the stored streams.
//   - Jobs are not placed by snapshot, only leased sandboxes are. A class directs jobs.
//   - Sessions that wait at a host are served in turns between tenants, without priority.
//   - A host trusts its own clock to measure durations.
//   - If the engine loses its storage, epochs begin again; a host then refuses a new lease of an
//     old key only while it still has the sandbox of the old lease.
//   - Without replicas, the queue is lost if the NATS server is lost.
//   - Package microvm is tested without booting a virtual machine.
//
// # Terms
//
//   - class: a kind of host, such as "go". Every job and lease names a class.
//   - box: an open sandbox, container or virtual machine of a back end.
//   - epoch: the number of a lease, greater than that of every earlier one.
//   - receipt: the handle of a delivered job, by which a host extends, finishes or returns it.
package fleet
