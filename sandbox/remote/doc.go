// Package remote opens sandboxes on another machine: [Server] is the environment
// server, [Open] the client, whose sandbox is a sandbox.Sandbox like any other.
//
//	srv, err := remote.NewServer(remote.Config{Dir: state, Tenants: []remote.Tenant{{Name: "ci", Token: token}}})
//	go http.Serve(listener, srv)
//
//	sb, err := remote.Open(ctx, remote.Options{URL: "http://10.0.0.7:8080", Token: token, Dir: "/path/to/repo"})
//	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"go", "test", "./..."}})
//
// # What survives what
//
// The client gives every sandbox and command its name, so that a request whose
// answer was lost can be sent again: nothing is started twice. A command's output
// and its end are one log, kept in a file by the server; a client that was cut off
// asks for it from the byte it has, so that nothing is lost or doubled. The log
// stays until the client has acknowledged it, also over a restart of the server;
// commands that ran then end with [ErrLost].
//
// A sandbox lives as long as its lease. The client renews it; when it does not
// come back in time, the sandbox is closed and all that runs in it is killed.
//
// # Workspace
//
// The client lists the directory with the hash of each file and sends the contents
// that the server does not have yet. Contents are kept for each tenant apart: the
// hash of a file is no right to read it. Permissions, times and names arrive as they
// are, a symbolic link too; what is neither file, directory nor link is left out.
//
// Commands change a private view, of which a [Sandbox] can do what one over a
// snapshot on this machine can: list, show and review the change, fork, go back, and
// export. An export decides and writes on the client: the server brings the change
// out into files of its own, the review comes first, and contents are fetched when
// it has passed, from where they were cut off, checked by their hashes. What the
// directory holds already is not fetched. Two things differ. An absolute link into
// the workspace is refused, since it names a place of the server's. No command can be
// approved to run under other terms, which are the server's to set. A command is tried
// first in a fork on the server, which counts as one.
//
// # Trust model
//
// The server trusts a tenant to use its quota up and no more: whoever has the
// token runs commands within the isolation that the server's configuration
// demands. The token travels in a header, so that a connection over a network
// must be TLS; with client certificates no token is needed. The client believes
// the server's word about isolation, results and reviews, but writes nothing outside
// of the directory that it exports to.
package remote
